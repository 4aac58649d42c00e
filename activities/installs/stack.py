"""`stack.render`: what a customer applies, rendered on the control side."""

from dataclasses import asdict, dataclass

from temporalio import activity

from contracts import stacks as declared
from contracts.errors import BadInput
from contracts.stacks import RenderStack, Stack
from stacks import systemd
from stacks.enrolment import TOKEN_FILE, BuildEnrolment, Enrolment, EnrolmentError
from wire.network.gateway_address import GatewayAddress


@dataclass(frozen=True)
class WorkerAddresses:
    """The addresses that workers in customers' accounts connect to."""

    temporal: str
    """`host:port`."""
    releases: str
    """URL of the read-only registry."""
    gateway: str | None = None
    """URL of the gateway; if there is one, the two above are its addresses."""
    gateway_ca: str | None = None
    """PEM of the authority of its certificate, unless the system trusts that already."""
    control_key: str | None = None
    """The public half of the enrolment key."""

    @staticmethod
    def behind(gateway: GatewayAddress, control_key: str) -> "WorkerAddresses":
        """Everything through one gateway."""
        return WorkerAddresses(
            temporal=gateway.target,
            releases=gateway.url,
            gateway=gateway.url,
            gateway_ca=gateway.ca,
            control_key=control_key,
        )

    def build_enrolment(self, namespace: str) -> BuildEnrolment | None:
        """What the org's build workers are given; None if there is no gateway.

        Raises:
            EnrolmentError: the addresses cannot be used.
        """
        if self.gateway is None or self.control_key is None:
            return None
        return BuildEnrolment.of(
            namespace=namespace,
            gateway=self.gateway,
            gateway_ca=self.gateway_ca,
            control_key=self.control_key,
        )


class StackActivities:
    """Runs on the control worker."""

    def __init__(self, addresses: WorkerAddresses, namespace: str) -> None:
        """Render for workers of the org `namespace` that dial these addresses."""
        self._addresses = addresses
        self._namespace = namespace

    @activity.defn(name=declared.RENDER_STACK.name)
    async def render(self, input: RenderStack) -> Stack:
        """Render the stack of an install.

        Raises:
            BadInput: the store's or the control worker's settings cannot be used.
        """
        store = input.store
        try:
            enrolment = Enrolment.of(
                install=input.install,
                namespace=self._namespace,
                store=store.url if store else None,
                store_region=store.region if store else None,
                store_endpoint=store.endpoint if store else None,
                **asdict(self._addresses),
            )
        except EnrolmentError as error:
            raise BadInput(
                f"{error}\nThe store's keys come from the install's input; the addresses come from "
                "the control worker's --worker-gateway, or --worker-temporal and --worker-releases."
            ) from None
        return Stack(
            kind=systemd.KIND,
            files=dict(systemd.render(enrolment, input.app)),
            token_file=TOKEN_FILE if enrolment.gateway else "",
        )
