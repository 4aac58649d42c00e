"""`install.readme`: the app's readme, rendered with the install's values and without secrets."""

import asyncio

from temporalio import activity

from activities.heartbeats import heartbeating
from activities.secrets.masking import Mask
from activities.workplace import Workplace
from apps.input_values import InputErrors
from apps.templates import TemplateError
from apps.templates.degrading import Page, render_page
from contracts import readmes
from contracts.errors import BadConfig, BadInput, NotThere
from contracts.readmes import README_LIMIT_BYTES, Readme, ReadReadme

_MOST_PROBLEMS = 50


class ReadmeActivities:
    """Runs on the install worker, since only it has the values."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    @activity.defn(name=readmes.READ_README.name)
    async def read(self, input: ReadReadme) -> Readme:
        """The readme of the release that is deployed, or else provisioned.

        Raises:
            NotThere: nothing is deployed or provisioned, or the app has no readme.
            BadInput: an input is missing.
        """
        async with heartbeating():
            return await asyncio.to_thread(self._read, input)

    def _read(self, input: ReadReadme) -> Readme:
        state = self._workplace.state
        app, deployed, provisioned = state.app(), state.deployed(), state.provisioned()
        release = deployed.release if deployed else provisioned.release if provisioned else None
        if app is None or release is None:
            raise NotThere(
                f"Nothing is provisioned or deployed to {input.install} yet, so it has no readme; "
                "provision or deploy a release first."
            )
        config = self._workplace.releases.config(app, release)
        if not config.metadata.readme:
            raise NotThere(f"The release {release} of app {app} has no readme.")
        try:
            page = render_page(config.metadata.readme, state.document(config, app).template_data())
        except InputErrors as error:
            raise BadInput("; ".join(error.problems)) from None
        except TemplateError as error:
            raise BadConfig(f"the readme: {error}") from None
        return _sent(page, Mask.of(state.secrets(config)), app, release)


def _sent(page: Page, mask: Mask, app: str, release: str) -> Readme:
    text = mask.text(page.text)
    data = text.encode()
    is_cut = len(data) > README_LIMIT_BYTES
    return Readme(
        app=app,
        release=release,
        text=data[:README_LIMIT_BYTES].decode(errors="ignore") if is_cut else text,
        problems=[mask.text(problem) for problem in page.problems[:_MOST_PROBLEMS]],
        is_cut=is_cut,
    )
