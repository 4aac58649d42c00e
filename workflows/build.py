"""Build: from an uploaded config folder to one release, its parts packed in parallel."""

import asyncio

from temporalio import workflow

from apps.parts import SANDBOX, part_shown
from contracts import builds
from contracts.builds import AssembleRelease, BuildInput, BuildResult, CheckSource, PackComponent
from contracts.names import BUILD_QUEUE
from workflows.calls import call
from workflows.failures import failing_as_its_activity
from workflows.search_attributes import require_id, show, showing_its_end


@workflow.defn(name="Build")
class Build:
    """Checks, packs and assembles; every step gives the same digest for the same content."""

    @workflow.run
    async def run(self, input: BuildInput) -> BuildResult:
        """Build the release."""
        require_id("build", input.app)
        show(app=input.app, status="checking")
        with showing_its_end(), failing_as_its_activity():
            return await self._build(input)

    async def _build(self, input: BuildInput) -> BuildResult:
        checked = await call(
            builds.CHECK,
            CheckSource(app=input.app, source=input.source),
            queue=BUILD_QUEUE,
            summary="check and freeze the config",
        )
        show(status="packing")
        parts = [*checked.components, *([SANDBOX] if checked.sandbox else [])]
        packed = await asyncio.gather(
            *(
                call(
                    builds.PACK,
                    PackComponent(app=input.app, source=input.source, component=part),
                    queue=BUILD_QUEUE,
                    summary=f"pack {part_shown(part)}",
                )
                for part in parts
                if part not in checked.packed
            )
        )
        artifacts = checked.packed | {one.component: one.artifact for one in packed}
        sandbox = artifacts.pop(SANDBOX, None)
        release = await call(
            builds.ASSEMBLE,
            AssembleRelease(
                app=input.app,
                config=checked.config,
                components=artifacts,
                sandbox=sandbox,
                steps=checked.steps,
            ),
            queue=BUILD_QUEUE,
            summary="assemble the release",
        )
        show(release=release.release, status="built")
        return BuildResult(
            app=input.app,
            release=release.release,
            components={name: artifact.digest for name, artifact in artifacts.items()},
            sandbox=sandbox.digest if sandbox else None,
            reused=release.reused,
            warnings=checked.warnings,
            fetched=checked.fetched,
        )
