// Package ledger is ledgersync: it downloads ranges of validated XRP Ledger history from one or
// many servers, proves every byte of it, stores it, follows the tip, and serves it.
//
// The pipeline is services/ledger/backfill; an Assembly of names selects its parts. This package is
// the service and its jobs: sync (sync.go), follow, serve. Further commands, such as check and
// pack, are in services/ledger/cmd/ledgersync.
//
// It is not a node: it takes no part in consensus, and knows no ledger state.
package ledger

import (
	"dyno/parts/daemon"
	"dyno/services/ledger/store/folder"
)

const name = "ledgersync"

// Service describes ledgersync.
func Service() daemon.Service {
	var s server
	return daemon.Service{
		Name:  name,
		Short: "Download XRP Ledger history, prove it, store it and serve it",
		Long: `Ledgersync downloads a range of validated XRP Ledger history from one server or many, proves it down to the last
byte, and stores it. A server that answers wrongly is named, and the ledger fetched from another; the process may be
killed at any moment. It serves the stored ledgers in the shape of a rippled server's answers.`,
		Example: `  ledgersync sync --from 90000000 --to 90000999 --server https://xrplcluster.com --server https://s2.ripple.com:51234 --data history
  ledgersync sync --data history                      continues that sync
  ledgersync check --data history
  ledgersync serve --data history
  ledgersync verify ledgers.jsonl --level L4
  ledgersync sim --listen 127.0.0.1:5005              a server to try all this with`,
		Assembly: Assembly(),
		Data:     &folder.Data,
		Jobs:     []daemon.Job{syncJob(), followJob()},
		Flags:    s.declare,
		Start:    s.start,

		Extensions: true,
	}
}
