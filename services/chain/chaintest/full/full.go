// Package full holds what chaind does beyond the core: it signs for the development accounts, and its
// pending block has what waits. And the attacks that it refuses, as one table: what an attacker sends, and the
// code and the words of the answer. After each the program answers a call as ever, and at the end
// it has taken no more memory than a node may. The tests of package core are not repeated here; the
// plain program need not pass these.
//
// The attacks run one after the other, so that what each costs can be counted.
package full

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"dyno/parts/servicetest"
	"dyno/services/chain/chaintest"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// attack is what an attacker does, and what the program says to it.
type attack struct {
	name string
	send func(*target) string // returns the answer, as told writes it
	want string               // what the answer begins with, and words of it after "..."
}

// target is the program, and what an attacker may have on it.
type target struct {
	*chaintest.Client
	from    *chaintest.Account // has sent mined, and then waiting behind a gap
	to      common.Address
	mined   *types.Transaction
	waiting *types.Transaction
}

// Test runs all of it.
func Test(t *testing.T, start chaintest.Start) {
	chaintest.Together(t, start, map[string]chaintest.Case{"refuses": func(c *chaintest.Client) {
		a := &target{Client: c, from: c.NewAccount(100), to: c.NewAccount(0).Address()}
		a.mined = a.from.Send(a.to, 1)
		c.Mine(a.mined)
		a.waiting = a.from.At(5, a.to, 1)
		c.Send(a.waiting)
		for _, one := range slices.Concat(transactions, messages, calls, doors, sockets) {
			c.T.(*testing.T).Run(one.name, func(t *testing.T) {
				now := *a
				lent := *c
				lent.T = t
				now.Client = &lent
				now.suffers(one)
			})
		}
		if used := a.metric("go_memstats_sys_bytes"); used > mostMemory {
			c.T.Errorf("the program has taken %.0f MB of memory, want at most %d", used/1e6, mostMemory/1_000_000)
		}
	}})
	chaintest.Together(t, start, map[string]chaintest.Case{"has accounts": hasAccounts, "sees what waits": seesPending})
	chaintest.Alone(t, start, map[string]chaintest.Case{
		"ends though requests are half sent": endsWithHalves,
	})
}

// mostMemory is the most that the program may take from the system, in bytes: the largest answer,
// the largest traces and the queues of the sockets together are a fraction of it.
const mostMemory = 1_000_000_000

// suffers makes an attack, and checks the answer and that the program still serves.
func (a *target) suffers(one attack) {
	a.T.Helper()
	got := one.send(a)
	begin, words, _ := strings.Cut(one.want, "...")
	if !strings.HasPrefix(got, begin) || !strings.Contains(got, words) {
		a.T.Errorf("answered by %.300s\nwant %s", got, one.want)
	}
	if id := chaintest.Get[string](a.Client, "eth_chainId"); id != "0x539" {
		a.T.Fatalf("then the chain's id is %s", id)
	}
	if n := a.Nonce(a.from.Address(), "pending"); n != a.from.Nonce {
		a.T.Fatalf("then the nonce is %d, want %d: what was refused was counted", n, a.from.Nonce)
	}
}

// told is an answer over HTTP in words: its status if that is not 200, else the code and the
// message of the error, or the result.
func told(r chaintest.Reply, err error) string {
	if err != nil {
		return err.Error()
	}
	if r.Status != http.StatusOK {
		return fmt.Sprintf("%d %s", r.Status, r.Body)
	}
	return answer(r.Body)
}

// answer is the text of a message in words.
func answer(text []byte) string {
	var a chaintest.Answer
	if err := json.Unmarshal(text, &a); err != nil { // an array
		var all []chaintest.Answer
		if json.Unmarshal(text, &all) != nil || len(all) == 0 {
			return "no answer: " + string(text)
		}
		a = all[len(all)-1]
	}
	if a.Error != nil {
		return a.Error.Error()
	}
	return "result " + string(a.Result)
}

// call calls a method with parameters as JSON.
func call(method, params string) func(*target) string {
	return func(a *target) string { return a.call(method, params) }
}

func (a *target) call(method, params string) string {
	return told(a.TryPost(message(method, params), nil))
}

func message(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// post sends a body, with further fields of the header by name and value.
func post(body string, header ...string) func(*target) string {
	return func(a *target) string {
		fields := map[string]string{}
		for i := 0; i < len(header); i += 2 {
			fields[header[i]] = header[i+1]
		}
		return told(a.TryPost(body, fields))
	}
}

func (a *target) metric(name string) float64 {
	a.T.Helper()
	return servicetest.Metric(a.T, a.Program.Debug, name)
}

// cheaply adds to an answer what it cost if that is more than the given bytes of memory. These are
// at least twice what the costlier assembly needs: the program's other work is counted with it.
func cheaply(most float64, send func(*target) string) func(*target) string {
	return func(a *target) string {
		before := a.metric("go_memstats_alloc_bytes_total")
		got := send(a)
		if cost := a.metric("go_memstats_alloc_bytes_total") - before; cost > most {
			return fmt.Sprintf("an answer that cost %.0f bytes of memory, want at most %.0f: %s", cost, most, got)
		}
		return got
	}
}
