package ledger

import (
	"dyno/parts/assembly"
	"dyno/services/ledger/backfill"
)

// Assembly is ledgersync's seams, settings and ladder. The first implementation of a seam and the
// defaults of the settings are what the plain program does.
func Assembly() assembly.Parts {
	return assembly.Parts{
		Seams: []assembly.Seam{
			{Name: "decoder", Doc: "takes answers apart", Impls: []assembly.Impl{
				{Name: "json", Doc: "encoding/json"},
				{Name: "scan", Doc: "looks for the fields that count, and decodes hex into one piece of memory"},
			}},
		},
		Settings: assembly.Settings[settings](),
		Ladder:   ladder(),
	}
}

// settings are the seams and settings of the Assembly.
type settings struct {
	Decoder string `seam:"decoder"`

	Backfill backfill.Config

	Connections int    `set:"connections" default:"16" min:"1" max:"4096" doc:"concurrent requests to one server, over HTTP/1.1 a connection each; Clio allows an address 20"`
	StoreBatch  int    `set:"store_batch" default:"1" min:"1" max:"4096" tune:"true" doc:"most ledgers that are stored with one fsync, of those that wait"`
	Compression string `set:"compression" values:"none,s2" doc:"of new ledgers in the store; s2: less than half of the bytes, for little CPU"`
	Accounts    bool   `set:"accounts" default:"false" doc:"index of transactions by account, for account_tx; serve and sync index what is stored without, too, and it stays"`
}

func ladder() []assembly.Step {
	return []assembly.Step{
		{Name: "shards", Change: map[string]string{"fetches": "16"},
			Why: "Little's law: one request at a time waits for the server; 16 shards wait together"},
		{Name: "batched", Change: map[string]string{"store_batch": "32"},
			Why: "an fsync costs the same for one ledger and for 32"},
		{Name: "scan", Change: map[string]string{"decoder": "scan"},
			Why: "of 187 KB of JSON everything but 92 KB of hex is known beforehand"},
	}
}
