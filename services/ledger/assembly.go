package ledger

import (
	"time"

	"dyno/parts/assembly"
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
			{Name: "sizing", Doc: "how many ledgers a shard has", Impls: []assembly.Impl{
				{Name: "fixed", Doc: "shard_size"},
				{Name: "adaptive", Doc: "the count that keeps the P95 of recent shards near a quarter of the time-out"},
			}},
		},
		Settings: assembly.Settings[settings](),
		Ladder:   ladder(),
	}
}

// settings are the seams and settings of the Assembly.
type settings struct {
	Decoder string `seam:"decoder"`
	Sizing  string `seam:"sizing"`

	Fetches     int           `set:"fetches" default:"1" min:"1" max:"4096" tune:"true" doc:"concurrent requests, to all servers together"`
	Connections int           `set:"connections" default:"16" min:"1" max:"4096" doc:"concurrent requests to one server, over HTTP/1.1 a connection each; Clio allows an address 20"`
	ShardSize   int           `set:"shard_size" default:"16" min:"1" max:"4096" tune:"true" doc:"ledgers of a shard (sizing=adaptive: of the first shard)"`
	Timeout     time.Duration `set:"timeout" default:"8s" min:"10ms" max:"10m" doc:"time limit of a shard; another server is asked for the rest of it"`
	Window      int           `set:"window" default:"1024" min:"1" max:"1048576" tune:"true" doc:"ledgers that are fetched and not yet stored"`
	WindowBytes int64         `set:"window_bytes" default:"512MiB" min:"1MiB" max:"1TiB" tune:"true" doc:"bytes of answers that are not yet stored"`
	Verifiers   int           `set:"verifiers" default:"0" min:"0" max:"1024" tune:"true" doc:"goroutines that prove answers; 0: one for each processor"`
	Sample      int           `set:"signature_sample" default:"1" min:"1" max:"1048576" doc:"L4 checks the signatures of one ledger in this number; 1: of each"`
	StoreBatch  int           `set:"store_batch" default:"1" min:"1" max:"4096" tune:"true" doc:"most ledgers that are stored with one fsync, of those that wait"`
	Compression string        `set:"compression" values:"none,s2" doc:"of new ledgers in the store; s2: less than half of the bytes, for little CPU"`
	Accounts    bool          `set:"accounts" default:"false" doc:"index of transactions by account, for account_tx; serve and sync index what is stored without, too, and it stays"`
	Attempts    int           `set:"attempts" default:"12" min:"1" max:"1000" doc:"attempts at a ledger, over all servers, before it is given up"`
	Patience    time.Duration `set:"patience" default:"30s" min:"1s" max:"24h" doc:"time without a right answer from any server before a sync ends"`
}

func ladder() []assembly.Step {
	return []assembly.Step{
		{Name: "shards", Change: map[string]string{"fetches": "16"},
			Why: "Little's law: one request at a time waits for the server; 16 shards wait together"},
		{Name: "adaptive", Change: map[string]string{"sizing": "adaptive"},
			Why: "a shard that is too large is retried whole when it fails, one that is too small costs a look at the planner for each ledger"},
		{Name: "batched", Change: map[string]string{"store_batch": "32"},
			Why: "an fsync costs the same for one ledger and for 32"},
		{Name: "scan", Change: map[string]string{"decoder": "scan"},
			Why: "of 187 KB of JSON everything but 92 KB of hex is known beforehand"},
	}
}
