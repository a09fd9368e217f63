# What the scripts that build real servers for the tests share; they source it.
# `into` is the folder that programs are put into, `cache` the one it is in.

say() { printf '%s: %s\n' "${0#./}" "$*" >&2; }
give_up() {
    say "$*"
    exit 1
}

# answer WORD: `look` prints the folder if nothing is missing, `clean` removes it, and without a word
# what is there already is enough. `whole` says whether nothing is missing.
answer() {
    case ${1:-} in
    clean)
        rm -rf "$cache"
        exit 0
        ;;
    look) whole || exit 1 ;;
    esac
    if whole; then
        echo "$into"
        exit 0
    fi
}

# Two that build at once would only wait for each other; the second finds what the first has made.
lock_cache() {
    mkdir -p "$cache"
    exec 9>"$cache/lock"
    if command -v flock >/dev/null; then flock 9; fi
    answer
}

# build NAME VERSION PACKAGE [FLAGS FOR THE LINKER]: says now and then that it is still at work, with
# what has been compiled so far.
build() {
    local name=$1 version=$2 package=$3 flags=${4:-} started=$SECONDS log=$into/$1.log
    say "building $name $version with $(go env GOVERSION)"
    CGO_ENABLED=0 GOFLAGS=-mod=readonly GOWORK=off go build -trimpath -buildvcs=false -v \
        -ldflags "-s -w $flags" -o "$into/$name.new" "$package" >"$log" 2>&1 9>&- &
    local pid=$! next=20
    while kill -0 "$pid" 2>/dev/null; do
        sleep 1
        if ((SECONDS - started >= next)); then
            say "  $name: $((SECONDS - started)) s, $(grep -cE '^[a-z0-9.]+/' "$log" || true) packages compiled"
            next=$((next + 20))
        fi
    done
    wait "$pid" || {
        tail -n 20 "$log" >&2
        give_up "$name could not be built"
    }
    mv "$into/$name.new" "$into/$name"
    rm -f "$log"
    say "  $name took $((SECONDS - started)) s"
}
