"""Where an existing image comes from."""

from apps.config.base import Model, TemplateText, Text


class ImageTag(Model):
    """An image and its tag."""

    image_url: Text
    """The image without its tag."""
    tag: TemplateText | None = None
    update_policy: str | None = None
    """A constraint such as `~1.25`: a build takes the highest tag that fits."""


class PublicImage(ImageTag):
    """A public image."""


class AwsImage(ImageTag):
    """An image in a registry on AWS."""

    region: Text
    iam_role_arn: str | None = None
    """The role that is allowed to pull it."""
    connection: str | None = None


class GcpImage(ImageTag):
    """An image in a registry on Google Cloud."""

    gcp_project_id: Text
    region: Text
    service_account_email: str | None = None
    workload_identity_provider: str | None = None


class AzureImage(ImageTag):
    """An image in a registry on Azure."""

    registry_url: Text
    tenant_id: str | None = None
    client_id: str | None = None
    client_secret_name: str | None = None
    """The name of a secret of the app, never its value."""
    client_certificate_name: str | None = None
