package chain

import (
	"time"

	"dyno/parts/assembly"
	"dyno/services/chain/blockchain"
	"dyno/services/chain/node"
	"dyno/services/chain/raft"
)

// Config is a resolved assembly.
type Config struct {
	Codec     string `seam:"codec"`
	Transport string `seam:"transport"`
	Seal      string `seam:"seal"`
	State     string `seam:"state"`

	Sealing node.Sealing
	Answers Answers
	History int `set:"history" default:"128" min:"0" max:"1000000000" doc:"number of the last blocks whose states are kept for calls, traces and reads of accounts; 0: all, from when it is set. Up to 128 leaves a folder that keeps more as it is; proofs are of 128"`

	Raft func(*raft.Options) // changes how several nodes agree, for ServiceWith; nil: nothing does
}

// history is the setting in the form of blockchain.Options.
func (c Config) history() int64 {
	if c.History == 0 {
		return blockchain.AllStates
	}
	return int64(c.History)
}

// Answers says when a transaction's hash is answered.
type Answers struct {
	BlockWait time.Duration `set:"block_wait" default:"0s" min:"0s" max:"1m" doc:"time that the answer to eth_sendRawTransaction or eth_sendTransaction, which is given when the transaction is durable, waits for its block as well, at most; 0: it does not wait"`
}

// Assembly is the service's seams, settings and ladder. The plain program is before its first step:
// it checks signatures under the lock that it seals under.
func Assembly() assembly.Parts {
	return assembly.Parts{
		Seams: []assembly.Seam{
			{Name: "codec", Doc: "reads and writes messages of JSON-RPC", Impls: []assembly.Impl{
				{Name: "std", Doc: "encoding/json"},
				{Name: "scan", Doc: "one pass by hand, without allocations for the envelope"},
			}},
			{Name: "transport", Doc: "reads HTTP requests", Impls: []assembly.Impl{
				{Name: "net", Doc: "net/http, a goroutine for each connection"},
				{Name: "loop", Doc: "an event loop, which has single calls of eth_sendRawTransaction run together; the rest is net/http's"},
			}},
			{Name: "seal", Doc: "says when a block is made", Impls: []assembly.Impl{
				{Name: "each", Doc: "a block for each transaction"},
				{Name: "timer", Doc: "a block after block_interval, or later under load, of at most block_max transactions"},
			}},
			{Name: "state", Doc: "keeps the states after the last blocks", Impls: []assembly.Impl{
				{Name: "statedb", Doc: "go-ethereum's StateDB over its path database"},
				{Name: "flat", Doc: "records of accounts and slots, with the tries open from block to block"},
			}},
		},
		Settings: assembly.Settings[Config](),
		Ladder: []assembly.Step{
			{Name: "scan", Change: map[string]string{"codec": "scan"}, Why: "reading the envelope costs as much as the method"},
			{Name: "timer", Change: map[string]string{"seal": "timer"}, Why: "a block costs two tries, a batch and an fsync, whatever is in it: all transactions that wait share them"},
			{Name: "flat", Change: map[string]string{"state": "flat"}, Why: "the nodes of the tries are made for roots, and neither read nor written for each block"},
			{Name: "loop", Change: map[string]string{"transport": "loop"}, Why: "single calls that arrive together share goroutines, one record and one fsync, as those of an array do"},
		},
	}
}
