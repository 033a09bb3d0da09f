package dyno

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inside has, for a room, which of its own packages may import which, from the top down: a row may
// import rows below it only. A path is relative to the room, and "." is the room's root package.
// Tests may import all.
var inside = map[string][]room{
	"services/notify": {
		{".", []string{"api", "dispatch", "webhook", "dedup", "push", "page", "apikey"},
			"assembles the service, and decides nothing"},
		{"api", []string{"dispatch", "push", "journal", "notice", "subscription"},
			"the form of requests and answers; what a request does is below"},
		{"dispatch", []string{"webhook", "timers", "jetstream", "journal", "dedup", "push", "notice", "subscription", "topic"},
			"who is owed what, and getting it there; it knows no form of requests and answers"},
		{"webhook", []string{"http1", "notice", "subscription"}, "one request and its outcome; it knows no queue"},
		{"journal", []string{"subscription"}, "what became of the notices; it does not know the dispatcher"},
		{"push", []string{"topic"}, "streams over any log"},
		{"apikey", []string{"topic"}, "who may call which types"},
		{"soak", nil, "drives the program from outside, so that it can drive any that has the API"},
		{"notifytest", nil, "the black-box suite knows the API only"},
		{"plain", nil, "the day-one program shares nothing with what it is compared with"},
		{"*", nil, "one mechanism, of use without the others"},
	},
	"services/orders": {
		{".", []string{"gateway", "release", "web", "auth", "message", "store", "database", "postgres"}, "the service: its command line, its database and server, around the gateway"},
		{"gateway", []string{"web", "store", "database", "auth", "message", "encode", "batcher", "order"}, "what happens to a request, in its order; it knows no server"},
		{"release", []string{"web"}, "two versions of any handler; it knows no order"},
		{"web", nil, "HTTP, whichever server reads it; it knows no order"},
		{"store", []string{"database", "batcher", "order"}, "orders in one database or several, wherever they run"},
		{"database", []string{"order"}, "the tables and their rights; it answers no request"},
		{"auth", []string{"order"}, "whose request it is"},
		{"message", []string{"order"}, "a submission's formats"},
		{"encode", []string{"order"}, "an answer's formats"},
		{"ordertest", []string{"pgtest"}, "the black-box suite knows the API and the database only"},
		{"soak", nil, "drives the program from outside, so that it can drive any that has the API"},
		{"plain", nil, "the day-one program shares nothing with what it is compared with"},
		{"order", nil, "the domain, on which all of the others stand"},
		{"companion", []string{"postgres"}, "a PostgreSQL beside a scenario's program"},
		{"pgtest", []string{"postgres"}, "a PostgreSQL for tests"},
		{"*", nil, "one mechanism, of use without the others"},
	},
	"services/chain": {
		{"cmd", []string{".", "api", "blockchain", "devnet", "execution", "gen", "genesis", "node", "peers", "plain", "state", "statetest", "store"},
			"the command: flags and print"},
		{".", []string{"cluster", "testchain", "node", "journal", "mempool", "blockchain", "genesis", "api", "console", "jsonrpc", "limiter", "peers", "raft", "state", "store"},
			"the service and its jobs, around the chain"},
		{"api", []string{"node", "execution", "genesis", "console", "jsonrpc", "limiter", "store"}, "the JSON-RPC methods, over what a node lets them see"},
		{"testchain", []string{"node", "execution", "genesis", "console", "jsonrpc", "limiter", "state", "store"}, "a chain that test suites set as they like; of a node only the form of its answers"},
		{"cluster", []string{"node", "journal", "blockchain", "peers", "raft"}, "several nodes; of the chain only whose fault an error is"},
		{"node", []string{"blockchain", "journal", "mempool", "execution", "limiter", "store"}, "the way of a transaction; it knows no method"},
		{"blockchain", []string{"execution", "genesis", "flat", "state", "store"}, "blocks and the states that they leave; it knows no request"},
		{"statetest", []string{"execution"}, "one transaction over a made-up state; it knows no chain"},
		{"execution", []string{"genesis", "state"}, "what a block does to a state, wherever both are kept"},
		{"flat", []string{"state", "store"}, "states as they are kept; of the store only how Pebble is opened"},
		{"state", []string{"store"}, "what a chain needs of its states, and one way to keep them; of the store only how Pebble is opened"},
		{"raft", []string{"peers"}, "one order of entries, whatever they say; of peers only how notes are packed"},
		{"soak", []string{"chaintest", "genesis", "peers"}, "drives the command from outside; go-ethereum executes its chain from the genesis"},
		{"devnet", []string{"peers"}, "starts the command, and knows of a node its flags, its keys and its debug address"},
		{"gen", []string{"genesis"}, "a load for any node; it knows none"},
		{"plain", nil, "the day-one program shares nothing with what it is compared with"},
		{"mempool", nil, "the rules of what waits; it knows accounts, but neither blocks nor the disk"},
		{"genesis", nil, "what a chain begins with"},
		{"*", nil, "one mechanism, of use without the others"},
	},
	"services/arena": {
		{".", []string{"room", "lanes", "fleet", "agones", "match", "heartbeat", "page", "socket", "auth", "delta", "recording", "game", "wire"}, "assembles the service"},
		{"room", []string{"match", "socket", "delta", "game", "wire"}, "a room and what it writes; it knows no other room, and no request"},
		{"delta", []string{"game", "wire"}, "states as bits; it knows no client"},
		{"heartbeat", nil, "one endpoint in several ways; it knows no room"},
		{"page", nil, "files for the browser"},
		{"auth", nil, "who a player is"},
		{"socket", nil, "WebSocket, whatever its messages mean"},
		{"arenatest", []string{"wire"}, "the black-box suite knows the contract only: it moves and hashes with code of its own"},
		{"plain", []string{"game", "wire"}, "the day-one program shares the rules and the messages with what it is compared with, and nothing else"},
		{"fleet", []string{"match"}, "several nodes; of matches only where their rooms are"},
		{"agones", nil, "what Kubernetes must know of a process; it knows no room"},
		{"match", nil, "which room a player goes to, whatever a room is and wherever it runs"},
		{"recording", []string{"game"}, "what happens in a world, in a file; it knows no room"},
		{"impair", nil, "a proxy for any protocol; it knows no game"},
		{"game", nil, "the rules; they know neither players' connections nor time"},
		{"wire", nil, "the messages"},
		{"*", nil, "one mechanism, of use without the others"},
	},
	"services/ledger": {
		{"cmd", []string{".", "*"}, "the command: flags and print"},
		{".", []string{"backfill", "serve", "mirror", "store", "tip", "servers", "signing", "trust", "xrpl"},
			"assembles the commands' jobs"},
		{"backfill", []string{"servers", "signing", "trust", "xrpl"}, "the pipeline, over any store"},
		{"tip", []string{"servers", "trust", "xrpl"}, "the newest ledger and what to trust, over any store"},
		{"servers", []string{"xrpl"}, "which server to ask, how fast, and how to read what it sends; it knows no work"},
		{"soak", []string{"ledgertest", "sim"}, "drives the command from outside"},
		{"ledgertest", []string{"sim", "xrpl"}, "the black-box suite knows the commands only"},
		{"sim", []string{"signing", "xrpl"}, "servers that fail on demand, of which the product knows nothing"},
		{"plain", nil, "the day-one program shares nothing with what it is compared with"},
		{"serve", []string{"store", "trust", "xrpl"}, "answers from what is stored; it knows no server"},
		{"mirror", []string{"store", "trust", "xrpl"}, "passes on what is stored; it knows no server"},
		{"store", []string{"trust", "signing", "xrpl"}, "the disk; it knows no server"},
		{"trust", []string{"signing", "xrpl"}, "what proves a ledger, and on which validators agree; it knows neither servers nor disk"},
		{"signing", []string{"xrpl"}, "who signed the bytes"},
		{"*", nil, "one mechanism, of use without the others"},
	},
	"lab/diagnose": {
		{".", []string{"findings", "whatif", "rules", "autoscale", "facts", "stacks"}, "reads the signals, and asks the packages below"},
		{"changes", []string{"stacks"}, "which functions differ between two variants; it knows no verdict"},
		{"findings", []string{"whatif", "autoscale", "facts", "stacks"}, "improvements beside the bottleneck; it knows no verdict"},
		{"whatif", []string{"rules", "facts", "stacks"}, "the most that a change brings; it finds no cost itself"},
		{"rules", nil, "decides by figures alone"},
		{"autoscale", nil, "replays a rule of Kubernetes"},
		{"facts", nil, "figures of single runs"},
		{"stacks", nil, "what a stack means, and the code that a cost belongs to"},
	},
	"lab/report": {
		{"reporttest", []string{"html", "jsonv1", "text", ".", "view", "format"}, "finished experiments for tests"},
		{"html", []string{".", "sections", "history", "view", "format"}, "one output; it knows no other"},
		{"jsonv1", []string{".", "view", "format"}, "one output; it knows no other"},
		{"text", []string{".", "sections", "format"}, "one output; it knows no other"},
		{"ci", []string{".", "format"}, "one output; it knows no other"},
		{"history", []string{".", "format"}, "verdicts of several experiments; it reads one report at a time"},
		{"timeseries", []string{"."}, "one output; it knows no other"},
		{"viewers", nil, "records for other programs, which draw them"},
		{"tuned", []string{".", "format"}, "a search's result: it rests on several experiments"},
		{"progress", []string{"screen"}, "an experiment that still runs, of which there is no report"},
		{"screen", nil, "the terminal, whatever is shown there"},
		{"sections", []string{".", "view", "format"}, "what is shown, in which order; it knows no output"},
		{".", []string{"view", "format"}, "the model, which knows no output"},
		{"view", []string{"format"}, "the parts of the model"},
		{"format", nil, "how figures and verdicts read"},
	},
	"lab/experiment": {
		{"tuning", []string{".", "environment", "generator"}, "runs the experiments of a search for settings"},
		{".", []string{"runs", "turns", "generator", "environment"}, "what to run next; how it runs is below"},
		{"runs", []string{"generator", "environment"}, "one whole run; it knows no plan"},
		{"turns", []string{"generator", "environment"}, "slices of processes that stay up; it knows no whole run"},
		{"generator", []string{"environment"}, "the load of a run; it measures nothing"},
		{"experimenttest", nil, "servers that tests measure"},
		{"environment", nil, "the processes of a run; it knows no load"},
	},
	"lab/scenario": {
		{".", []string{"document"}, "what a scenario file says; of YAML and its schema only how values are read"},
		{"document", nil, "positions and rules of a schema; it knows no rule that a schema cannot express"},
	},
	"lab/live": {
		{".", []string{"livetest"}, "serves what the packages below make"},
		{"livetest", nil, "what tests serve"},
	},
}

// Inside a room that has a table, imports point down as well.
func TestArrowsInsidePointDown(t *testing.T) {
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for outer, rows := range inside {
			dir, ok := inner(outer, filepath.ToSlash(filepath.Dir(file)))
			if !ok {
				continue
			}
			for _, imported := range importsOf(t, file) {
				imported, _ = strings.CutPrefix(imported, module+"/")
				to, ok := inner(outer, imported)
				switch {
				case !ok || permitted(rows, dir, to):
				case rowOf(rows, dir) < 0:
					t.Errorf("%s imports %s: add a row for %s to the table in inside_test.go", file, imported, dir)
				default:
					t.Errorf("%s imports %s: %s", file, imported, rows[rowOf(rows, dir)].reason)
				}
			}
		}
	}
}

// Each row of a room's inside imports rows below it only, so that there is one direction.
func TestInsideHasOneDirection(t *testing.T) {
	for outer, rows := range inside {
		for i, from := range rows {
			for _, to := range from.imports {
				if rowOf(rows, to) <= i {
					t.Errorf("%s: the row of %s permits %s, which is not below it", outer, from.dir, to)
				}
			}
		}
	}
}

// inner returns a folder's path from the room that it is in.
func inner(outer, dir string) (string, bool) {
	if dir == outer {
		return ".", true
	}
	return strings.CutPrefix(dir, outer+"/")
}

// rowOf is the index of the row that holds for a folder; -1 means none.
func rowOf(rows []room, dir string) int {
	return slices.IndexFunc(rows, func(r room) bool { return within(r.dir, dir) && (r.dir == ".") == (dir == ".") })
}

// permitted reports whether a folder may import another inside the same room.
func permitted(rows []room, from, to string) bool {
	i := rowOf(rows, from)
	return i >= 0 && (sameRoom(rows[i].dir, from, to) || slices.ContainsFunc(rows[i].imports, func(r string) bool { return r == to || r != "." && within(r, to) }))
}
