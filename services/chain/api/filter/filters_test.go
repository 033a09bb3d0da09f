package filter_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/api/filter"
	"dyno/services/chain/jsonrpc"
)

// client calls methods.
type client struct {
	t   *testing.T
	all map[string]jsonrpc.Method
}

// ask returns an answer in JSON, or an error's text.
func (c client) ask(method string, params ...any) string {
	c.t.Helper()
	text, err := json.Marshal(append([]any{}, params...))
	if err != nil {
		c.t.Fatal(err)
	}
	result, err := c.all[method](c.t.Context(), text)
	if err != nil {
		return err.Error()
	}
	if text, err = json.Marshal(result); err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// open makes a filter and returns its id.
func (c client) open(method string, params ...any) (id string) {
	c.t.Helper()
	if answer := c.ask(method, params...); json.Unmarshal([]byte(answer), &id) != nil {
		c.t.Fatalf("%s: %s", method, answer)
	}
	return id
}

// count asks for changes and returns their number.
func (c client) count(id string) int {
	c.t.Helper()
	var changes []any
	if answer := c.ask("eth_getFilterChanges", id); json.Unmarshal([]byte(answer), &changes) != nil {
		c.t.Fatal(answer)
	}
	return len(changes)
}

func (c client) want(what, got, want string) {
	c.t.Helper()
	if got != want {
		c.t.Errorf("%s: %.300s, want %s", what, got, want)
	}
}

func list(hashes ...common.Hash) string {
	text, _ := json.Marshal(append([]common.Hash{}, hashes...))
	return string(text)
}

func logs(n int, topic byte) (all []*types.Log) {
	for range n {
		all = append(all, &types.Log{Topics: []common.Hash{{topic}}})
	}
	return all
}

// A filter answers each block, log and transaction since it was made, once.
func TestFilters(t *testing.T) {
	g, node := newGrowing()
	f := filter.New(node)
	c := client{t, f.Methods()}
	g.accept(0)
	blocks, pending, whole := c.open("eth_newBlockFilter"), c.open("eth_newPendingTransactionFilter"), c.open("eth_newPendingTransactionFilter", true)
	all, ones := c.open("eth_newFilter", map[string]any{}), c.open("eth_newFilter", map[string]any{"topics": []any{common.Hash{1}}, "fromBlock": "0x2", "toBlock": "0x3"})
	for _, id := range []string{blocks, pending, whole, all, ones} {
		c.want("nothing", c.ask("eth_getFilterChanges", id), "[]")
	}
	var made []common.Hash
	for range 4 {
		made = append(made, g.grow(append(logs(2, 1), logs(1, 2)...)...).Hash())
	}
	c.want("blocks", c.ask("eth_getFilterChanges", blocks), list(made...))
	hash := g.accept(1)
	c.want("hashes", c.ask("eth_getFilterChanges", pending), list(hash))
	if got := c.ask("eth_getFilterChanges", whole); !strings.Contains(got, `"hash":"`+hash.Hex()+`"`) || strings.Count(got, `"hash"`) != 1 {
		t.Errorf("transactions: %s", got)
	}
	if n, m := c.count(all), c.count(ones); n != 12 || m != 4 {
		t.Errorf("%d logs and %d of blocks 2 and 3", n, m)
	}
	c.want("all logs of the head", fmt.Sprint(strings.Count(c.ask("eth_getFilterLogs", all), `"logIndex"`)), "3")
	c.want("logs of blocks", c.ask("eth_getFilterLogs", blocks), "filter not found")
	for _, id := range []string{blocks, pending, whole, all, ones} {
		c.want("nothing again", c.ask("eth_getFilterChanges", id), "[]")
		c.want("uninstall", c.ask("eth_uninstallFilter", id), "true")
		c.want("uninstall twice", c.ask("eth_uninstallFilter", id), "false")
		c.want("changes after that", c.ask("eth_getFilterChanges", id), "filter not found")
	}
	c.want("pending", c.ask("eth_newFilter", map[string]any{"toBlock": "pending"}), "pending logs are not supported")
	c.want("reversed", c.ask("eth_newFilter", map[string]any{"fromBlock": "0x3", "toBlock": "0x2"}), "invalid block range params")
	one := c.open("eth_newFilter", map[string]any{"blockHash": common.Hash{1}}) // go-ethereum's changes are of new blocks then
	g.grow(logs(2, 1)...)
	if n := c.count(one); n != 2 {
		t.Errorf("%d new logs of a filter with a block's hash", n)
	}
	c.want("logs of an unknown block", c.ask("eth_getFilterLogs", one), "unknown block")
}

// A filter whose client asks too late for hashes misses some, which is counted.
func TestDropped(t *testing.T) {
	g, node := newGrowing()
	f := filter.New(node)
	c := client{t, f.Methods()}
	id := c.open("eth_newPendingTransactionFilter")
	for n := range 5 {
		g.accept(uint64(n))
	}
	g.forgot = 3
	if n := c.count(id); n != 2 || f.Dropped() != 3 {
		t.Errorf("%d hashes, %d dropped", n, f.Dropped())
	}
}

// Many logs are answered in parts by a filter, and refused to a search; one block is always whole.
func TestManyLogs(t *testing.T) {
	g, node := newGrowing()
	c := client{t, filter.New(node).Methods()}
	id := c.open("eth_newFilter", map[string]any{})
	for range 3 {
		g.grow(logs(6_000, 1)...)
	}
	g.grow(logs(12_000, 1)...)
	for i, want := range []int{6_000, 6_000, 6_000, 12_000, 0} {
		if n := c.count(id); n != want {
			t.Errorf("part %d: %d logs, want %d", i, n, want)
		}
	}
	c.want("all", c.ask("eth_getLogs", map[string]any{"fromBlock": "0x0"}), "query returned more than 10000 results or 16 MB, up to block 1: ask for fewer blocks")
	if n := strings.Count(c.ask("eth_getLogs", map[string]any{}), `"logIndex"`); n != 12_000 {
		t.Errorf("%d logs of the head", n)
	}
	for range 10_000 {
		g.grow()
	}
	c.want("many blocks", c.ask("eth_getLogs", map[string]any{"fromBlock": "0x0"}), "exceed maximum block range 10000")
}

// Filters are bounded, and those that are not used for 5 minutes make room.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, node := newGrowing()
		c := client{t, filter.New(node).Methods()}
		used := c.open("eth_newBlockFilter")
		idle := c.open("eth_newBlockFilter")
		for range 998 {
			c.open("eth_newBlockFilter")
		}
		c.want("one more", c.ask("eth_newBlockFilter"), "there are 1000 filters: uninstall one, or subscribe over WebSocket")
		time.Sleep(4 * time.Minute)
		c.want("in use", c.ask("eth_getFilterChanges", used), "[]")
		time.Sleep(2 * time.Minute)
		c.want("still there", c.ask("eth_getFilterChanges", used), "[]")
		c.want("idle", c.ask("eth_getFilterChanges", idle), "filter not found")
		for range 999 {
			c.open("eth_newBlockFilter")
		}
	})
}
