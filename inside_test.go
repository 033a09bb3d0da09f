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
		{".", []string{"api", "ingest", "backlog", "routing", "delivery", "webhook", "store", "dedup", "push", "page", "apikey"},
			"assembles the service, and decides nothing"},
		{"api", []string{"ingest", "backlog", "routing", "delivery", "store", "push", "journal", "notice", "subscription"},
			"the form of requests and answers; what a request does is below"},
		{"ingest", []string{"backlog", "routing", "delivery", "store", "dedup", "push", "notice"},
			"hands a notice down to those that want it, and knows no answer's form"},
		{"backlog", []string{"routing", "delivery", "store", "dedup", "journal", "notice", "subscription"},
			"fills what delivery has room for; nothing below waits for it"},
		{"routing", []string{"delivery", "webhook", "store", "notice", "subscription", "topic"},
			"which subscription wants a notice, whichever way the notice comes"},
		{"delivery", []string{"webhook", "wheel", "journal", "notice", "subscription"},
			"sends what it has; it knows neither subscriptions' wishes nor the log of notices"},
		{"webhook", []string{"notice", "subscription"}, "one request and its outcome; it knows no queue"},
		{"store", []string{"journal", "notice", "subscription"}, "the logs; it does not know who is owed what"},
		{"journal", []string{"subscription"}, "what became of the notices; it does not know the dispatcher"},
		{"push", []string{"topic"}, "streams over any log"},
		{"apikey", []string{"topic"}, "who may call which types"},
		{"soak", nil, "drives the program from outside, so that it can drive any that has the API"},
		{"notifytest", nil, "the black-box suite knows the API only"},
		{"plain", nil, "the day-one program shares nothing with what it is compared with"},
		{"*", nil, "one mechanism, of use without the others"},
	},
	"services/orders": {
		{".", []string{"gateway", "release", "web", "auth", "message"}, "the service: its command line, its database and server, around the gateway"},
		{"gateway", []string{"web", "cache", "store", "auth", "message", "encode", "query", "order"}, "what happens to a request, in its order; it knows no server"},
		{"release", []string{"web"}, "two versions of any handler; it knows no order"},
		{"web", nil, "HTTP, whichever server reads it; it knows no order"},
		{"cache", []string{"order"}, "orders in memory; it asks no database"},
		{"store", []string{"order"}, "the database, wherever it runs"},
		{"auth", []string{"order"}, "whose request it is"},
		{"message", []string{"order"}, "a submission's formats"},
		{"encode", []string{"order"}, "an answer's formats"},
		{"query", []string{"order"}, "what a request's URL and header fields ask"},
		{"ordertest", nil, "the black-box suite knows the API and the database only"},
		{"soak", nil, "drives the program from outside, so that it can drive any that has the API"},
		{"plain", nil, "the day-one program shares nothing with what it is compared with"},
		{"order", nil, "the domain, on which all of the others stand"},
	},
	"services/chain/mempool": {
		{".", []string{"index"}, "the rules"},
		{"index", nil, "entries by hash and by fee; it knows no rule"},
	},
	"services/chain": {
		{".", []string{"cluster", "node", "sealing", "journal", "mempool", "blockchain", "genesis", "api"}, "the service and its jobs, around the chain"},
		{"cluster", []string{"node", "journal", "blockchain", "api"}, "several nodes; of the chain only whose fault an error is, of the API only how answers are passed on"},
		{"node", []string{"api", "blockchain", "journal", "mempool", "sealing"}, "the way of a transaction; of the API only what it implements"},
		{"journal", nil, "what was promised, for any chain"},
		{"sealing", nil, "when, not what"},
		{"api", []string{"execution", "genesis"}, "the JSON-RPC methods, over what a node lets them see"},
		{"blockchain", []string{"execution", "genesis"}, "blocks and the states that they leave; it knows neither files nor requests"},
		{"execution", []string{"genesis"}, "what a block does to a state, wherever both are kept"},
		{"soak", []string{"chaintest", "genesis"}, "drives the command from outside; go-ethereum executes its chain from the genesis"},
		{"gen", []string{"genesis"}, "a load for any node; it knows none"},
		{"devnet", nil, "starts the command, and knows of a node its flags and its debug address"},
		{"mempool", nil, "the rules of what waits; it knows accounts, but neither blocks nor the disk"},
		{"genesis", nil, "what a chain begins with"},
		{"chaintest", nil, "the black-box suite knows the API only"},
		{"plain", nil, "the day-one program shares nothing with what it is compared with"},
	},
	"services/arena": {
		{".", []string{"room", "fleet", "agones", "match", "heartbeat", "page", "socket", "auth", "delta", "recording", "game", "wire"}, "assembles the service"},
		{"room", []string{"history", "match", "socket", "delta", "game", "wire"}, "a room and what it writes; it knows no other room, and no request"},
		{"history", []string{"delta", "game"}, "states of the past; it knows no client"},
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
	},
	"services/ledger": {
		{".", []string{"backfill", "serve", "mirror", "store", "board"}, "assembles the commands' jobs"},
		{"board", nil, "what a page shows of metrics"},
		{"backfill", nil, "the pipeline, over any store"},
		{"serve", []string{"store"}, "answers from what is stored"},
		{"mirror", []string{"store"}, "passes on what is stored"},
		{"store", nil, "the disk; it knows no server"},
		{"soak", []string{"ledgertest", "sim"}, "drives the command from outside"},
		{"ledgertest", []string{"sim"}, "the black-box suite knows the commands only"},
		{"sim", nil, "servers that fail on demand, of which the product knows nothing"},
		{"plain", nil, "the day-one program shares nothing with what it is compared with"},
	},
	"parts/ethereum": {
		{"state/flat", []string{"state", "store"}, "states as records; of the store only how Pebble is opened"},
		{"state/statedb", []string{"state", "store"}, "states as go-ethereum keeps them; of the store only how Pebble is opened"},
		{"state", nil, "what a chain needs of its states; the packages below keep them"},
		{"store", nil, "the disk; it judges nothing"},
		{"statetest", []string{"transaction", "fork"}, "one transaction over a made-up state; it knows no chain"},
		{"transaction", nil, "what can be said of a transaction without a state"},
		{"fork", nil, "rules by name"},
		{"archive", nil, "files of blocks, for any chain"},
		{"answer", nil, "what a node says of a block; it reads no answer"},
	},
	"parts/cluster": {
		{"raft", []string{"peers"}, "one order of entries, whatever they say; of peers only how notes are packed"},
		{"blocksync", []string{"peers"}, "the pipeline, over any chain"},
		{"gossip", []string{"peers"}, "what nodes send each other unasked; it knows no chain"},
		{"peers", nil, "connections between nodes; they do not know what is said"},
	},
	"services/ledger/xrpl": {
		{"follow", []string{"rippled", "validators", "history", "."}, "the tip, over any store"},
		{"anchor", []string{"serverpool", "rippled", "validators", "."}, "what others are proved from; it knows no range"},
		{"serverpool", []string{"rippled", "history"}, "which server to ask, and how fast; it knows no work"},
		{"rippled", []string{"history", "."}, "one server, and how to read what it sends"},
		{"validators", []string{"signing", "."}, "what a quorum agreed on; it knows no server"},
		{"trust", []string{"signing", "history", "."}, "what proves a ledger; it knows neither servers nor disk"},
		{"signing", []string{".", "sfield", "names"}, "who signed the bytes"},
		{"answer", []string{"xrpljson", "sfield", "."}, "what a server says of a ledger; it reads no answer"},
		{"pack", []string{"history", "."}, "a file of ledgers; it proves none"},
		{"xrpljson", []string{".", "sfield", "names"}, "the bytes as JSON"},
		{"planner", []string{"history"}, "what to request next; pure"},
		{"nodetree", []string{"."}, "a tree that another is compared with"},
		{"xrpltest", []string{"."}, "real ledgers for tests"},
		{".", []string{"sfield"}, "the bytes and their hashes"},
		{"history", nil, "ranges of ledgers, as servers write them"},
		{"sfield", nil, "the fields' numbers"},
		{"names", nil, "the names of fields and transactions"},
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
				if to, ok := inner(outer, imported); ok && !permitted(rows, dir, to) {
					t.Errorf("%s imports %s: %s", file, imported, rows[rowOf(rows, dir)].reason)
				}
			}
		}
	}
}

// apart lists what a package must not import of another room, where the room's row permits more.
// Its tests may.
var apart = []room{
	{"services/ledger/store", clients, "the disk; it knows no server"},
	{"services/ledger/serve", clients, "answers from what is stored; it knows no server"},
	{"services/ledger/mirror", clients, "passes on what is stored; it knows no server"},
	{"services/ledger/sim", clients, "servers that fail on demand know no client"},
}

var clients = []string{"services/ledger/rippled", "services/ledger/serverpool", "services/ledger/follow", "services/ledger/anchor"}

func TestApart(t *testing.T) {
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, row := range apart {
			if !within(row.dir, filepath.ToSlash(filepath.Dir(file))) {
				continue
			}
			for _, imported := range importsOf(t, file) {
				imported, _ = strings.CutPrefix(imported, module+"/")
				if slices.ContainsFunc(row.imports, func(r string) bool { return within(r, imported) }) {
					t.Errorf("%s imports %s: %s", file, imported, row.reason)
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
