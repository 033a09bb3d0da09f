package filter_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/api"
	"dyno/services/chain/api/filter"
	"dyno/services/chain/blockchain"
	"dyno/services/chain/genesis"
)

// imported returns a chain of 54 blocks with logs in 6 of them.
func imported(t *testing.T) *blockchain.Chain {
	t.Helper()
	var files [2][]byte
	for i, name := range []string{"genesis.json", "chain.rlp"} {
		var err error
		if files[i], err = os.ReadFile(filepath.Join("../../testdata/archive", name)); err != nil {
			t.Fatal(err)
		}
	}
	g, err := genesis.Parse(files[0])
	if err != nil {
		t.Fatal(err)
	}
	c, err := blockchain.Open(t.Context(), t.TempDir(), g, blockchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := blockchain.Import(t.Context(), c, bytes.NewReader(files[1]), func() {}); err != nil {
		t.Fatal(err)
	}
	return c
}

func backend(c *blockchain.Chain) api.Backend {
	return api.Backend{Genesis: c.Genesis, Blocks: c.Blocks, States: c, Pool: api.ReadOnly{}, Feed: api.ReadOnly{}}
}

// search returns the logs as "block/index", or an error's text.
func search(t *testing.T, c *blockchain.Chain, criteria string) string {
	t.Helper()
	var k filter.Criteria
	err := json.Unmarshal([]byte(criteria), &k)
	var logs []*types.Log
	if err == nil {
		logs, err = filter.Search(t.Context(), backend(c), &k)
	}
	if err != nil {
		return err.Error()
	}
	var found []string
	for _, l := range logs {
		found = append(found, fmt.Sprintf("%d/%d", l.BlockNumber, l.Index))
	}
	return strings.Join(found, " ")
}

const (
	emitter = `"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"`
	emit    = `"0x00000000000000000000000000000000000000000000000000000000656d6974"`
	fourth  = `"0x95b7276947f6331672b0c63eca28c1d39f25286d5e2793d6a487837ff1475ba0"` // of the log in block 4
	block4  = `"0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94"`
)

func TestSearch(t *testing.T) {
	c := imported(t)
	for criteria, want := range map[string]string{
		`{"fromBlock":"0x1","toBlock":"0x4","address":` + emitter + `}`:                       "2/10 4/0",
		`{"fromBlock":"earliest","toBlock":"0x4","address":[` + emitter + `]}`:                "2/10 4/0",
		`{"fromBlock":"0x1","toBlock":"0x7","topics":[` + emit + `]}`:                         "2/10 4/0 5/10 7/0",
		`{"fromBlock":"0x1","toBlock":"0x7","topics":[null,` + fourth + `]}`:                  "4/0",
		`{"fromBlock":"0x1","toBlock":"0x7","topics":[[],[` + emit + `,` + fourth + `]]}`:     "4/0",
		`{"fromBlock":"0x1","toBlock":"0x7","topics":[[` + emit + `,null],[` + fourth + `]]}`: "4/0",
		`{"fromBlock":"0x1","toBlock":"0x7","topics":[` + fourth + `]}`:                       "",
		`{"fromBlock":"0x1","toBlock":"0x7","topics":[` + emit + `,null,null]}`:               "",
		`{"fromBlock":"0x4","toBlock":"0x5","address":[]}`:                                    "4/0 5/0 5/1 5/2 5/3 5/4 5/5 5/6 5/7 5/8 5/9 5/10",
		`{"blockHash":` + block4 + `}`:                                                        "4/0",
		`{"blockHash":` + block4 + `,"topics":[` + fourth + `]}`:                              "",
		`{"blockHash":` + emit + `}`:                                                          "unknown block",
		`{"address":` + emitter + `}`:                                                         "54/10",
		`{"fromBlock":"safe","toBlock":"finalized","address":` + emitter + `}`:                "54/10",
		`{"fromBlock":"0x1","toBlock":"0x1"}`:                                                 "",
		`{"fromBlock":"0x32","toBlock":"0x38"}`:                                               "block range extends beyond current head block",
		`{"fromBlock":"0x32","toBlock":"0x2f"}`:                                               "invalid block range params",
		`{"fromBlock":"0x37"}`:                                                                "invalid block range params",
		`{"toBlock":"pending"}`:                                                               "pending logs are not supported",
		`{"fromBlock":"-1"}`:                                                                  "hex string without 0x prefix",
		`{"fromBlock":"0x3","blockHash":` + block4 + `}`:                                      "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other",
		`{"topics":[null,null,null,null,null]}`:                                               "exceed max topics",
		`{"topics":[[` + strings.Repeat(emit+",", 1000) + emit + `]]}`:                        "exceed max addresses or topics per search position: 1001, and 1000 are permitted",
		`{"address":"0x7dcd"}`:                                                                "hex string has length 4, want 40 for common.Address",
	} {
		if got := search(t, c, criteria); got != want {
			t.Errorf("%.100s: %s, want %s", criteria, got, want)
		}
	}
}

// A log is found by its own address and topics, although most blocks are left out by bloom.
func TestSearchFindsAll(t *testing.T) {
	c, number := imported(t), func(n uint64) *rpc.BlockNumber { b := rpc.BlockNumber(n); return &b }
	all, err := filter.Search(t.Context(), backend(c), &filter.Criteria{FromBlock: number(0)})
	if err != nil || len(all) < 300 {
		t.Fatalf("%d logs, %v", len(all), err)
	}
	node := backend(c)
	for i, log := range all {
		if i%10 != 0 {
			continue
		}
		k := filter.Criteria{FromBlock: number(log.BlockNumber), Addresses: []common.Address{log.Address}}
		for _, topic := range log.Topics {
			k.Topics = append(k.Topics, []common.Hash{topic})
		}
		found, err := filter.Search(t.Context(), node, &k)
		if err != nil || !slices.ContainsFunc(found, func(l *types.Log) bool { return reflect.DeepEqual(l, log) }) {
			t.Errorf("log %d is not found, %v", i, err)
		}
	}
}

// What can be read keeps to its bounds, and reads the same again.
func FuzzCriteria(f *testing.F) {
	f.Add(`{"fromBlock":"0x1","toBlock":"latest","address":[` + emitter + `],"topics":[null,` + emit + `,[` + emit + `]]}`)
	f.Add(`{"blockHash":` + block4 + `,"topics":[[null]]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var c filter.Criteria
		if json.Unmarshal([]byte(text), &c) != nil {
			return
		}
		if len(c.Topics) > 4 || len(c.Addresses) > 1000 || c.BlockHash != nil && (c.FromBlock != nil || c.ToBlock != nil) {
			t.Fatalf("%+v", c)
		}
		again, err := json.Marshal(map[string]any{"blockHash": c.BlockHash, "fromBlock": c.FromBlock, "toBlock": c.ToBlock, "address": c.Addresses, "topics": c.Topics})
		if err != nil {
			t.Fatal(err)
		}
		var same filter.Criteria
		if err := json.Unmarshal(again, &same); err != nil || !reflect.DeepEqual(same, c) {
			t.Fatalf("%+v is then %+v, %v", c, same, err)
		}
	})
}
