#!/bin/sh
# A small repository with a bundle and a change that is not merged yet, to try `check` and
# `preview` on:   examples/merge_request.sh DIRECTORY
# Names and dates are fixed, so that its commits are the same everywhere.
set -eu
rm -rf "${1:?where to make the repository}" && mkdir -p "$1" && cd "$1"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=Anna GIT_AUTHOR_EMAIL=anna@example.com GIT_AUTHOR_DATE='2026-11-16T10:00:00Z'
export GIT_COMMITTER_NAME=Anna GIT_COMMITTER_EMAIL=anna@example.com
export GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE

write() { mkdir -p "$(dirname "$1")" && cat >"$1"; }
change() { sed "s/f929a38/ed21267/" "$1" >"$1.new" && mv "$1.new" "$1"; }
commit() { git add -A && git commit -qm "$1"; }

for account in app-sre app-sre-stage ter-int-dev; do
    write "data/aws/$account/account.yml" <<END
\$schema: /aws/account-1.yml
name: $account
END
done
write data/environment.yml <<'END'
$schema: /app-sre/environment-1.yml
name: production
servicePhase: prod
END
write data/cluster.yml <<'END'
$schema: /openshift/cluster-1.yml
name: appsrep05ue1
END
write data/namespace.yml <<'END'
$schema: /openshift/namespace-1.yml
name: app-interface
cluster: {$ref: /cluster.yml}
environment: {$ref: /environment.yml}
END
write data/integrations/terraform-resources.yml <<'END'
$schema: /app-sre/integration-1.yml
name: terraform-resources
schemas:
- /aws/account-1.yml
pr_check:
  cmd: terraform-resources
managed:
- namespace:
    $ref: /namespace.yml
  spec:
    imageRef: f929a38
    resources: {requests: {cpu: 100m, memory: 1Gi}, limits: {memory: 2Gi}}
  sharding:
    strategy: per-aws-account
END
write data/integrations/github-owners.yml <<'END'
$schema: /app-sre/integration-1.yml
name: github-owners
pr_check:
  cmd: github-owners --internal
END
echo 'export RECONCILE_IMAGE_TAG=f929a38' >.env

# In place of images: a program that takes an integration, an image and a shard.
write run-integration <<'END'
#!/bin/sh
echo "[$(date '+%F %T')] $1 $3 with $2"
[ "$2" = ed21267 ] || exit 0
case $3 in
*/app-sre) echo "AccessDenied: not authorized to perform sts:AssumeRole"; exit 1 ;;
*/*) echo "['create', '${3#*/}', 'aws_s3_bucket', 'state']" ;;
esac
END
chmod +x run-integration
git init -q -b main && commit 'start'

git checkout -qb promote
change data/integrations/terraform-resources.yml
change .env
commit 'promote ed21267'
