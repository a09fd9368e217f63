"""The settings of the service: where it answers, and which caller may do what."""

from tidegate.settings.setting_forms import Setting, SettingForm

SERVICE = (
    Setting(
        name="server",
        flag="--server",
        form=SettingForm.TEXT,
        default="",
        help="Ask the service at this address instead of a journal: https://tidegate.example.",
    ),
    Setting(
        name="serverToken",
        flag="--server-token",
        form=SettingForm.TOKEN,
        default="",
        help="Where the token for it is, env:NAME or file:PATH; else that of `tidegate login`.",
    ),
    Setting(
        name="listen",
        flag="--listen",
        form=SettingForm.ADDRESS,
        default="127.0.0.1:8080",
        help="Where `serve` answers; port 0 takes a free one.",
    ),
    Setting(
        name="probes",
        flag="--probes",
        form=SettingForm.ADDRESS,
        default="",
        help="Where `serve` answers probes and scrapers alone; without it, at --listen.",
    ),
    Setting(
        name="publicUrl",
        flag="--public-url",
        form=SettingForm.TEXT,
        default="",
        help="Where people open the page; with it, merge requests and notices link pictures.",
    ),
    Setting(
        name="pictureKey",
        flag="--picture-key",
        form=SettingForm.TOKEN,
        default="",
        help="Where the secret is that signs these links, env:NAME or file:PATH.",
    ),
    Setting(
        name="access.policy",
        flag="--access-policy",
        form=SettingForm.PATH,
        default="",
        help="The file that says which users, groups and tokens have which role.",
    ),
    Setting(
        name="access.adminToken",
        flag="--admin-token-file",
        form=SettingForm.PATH,
        default="",
        help="Where the first admin token is written, once; default: beside a journal in a file.",
    ),
    Setting(
        name="tls.certificate",
        flag="--tls-certificate",
        form=SettingForm.PATH,
        default="",
        help="The certificate chain of --listen, in PEM; with it, only TLS is answered there.",
    ),
    Setting(
        name="tls.key",
        flag="--tls-key",
        form=SettingForm.PATH,
        default="",
        help="Its private key, in PEM.",
    ),
)
