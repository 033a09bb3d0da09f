package core

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dyno/parts/lameduck/lameducktest"
	"dyno/parts/quicktest"
	"dyno/services/chain/chaintest"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// survivesKill: after each kill, every transaction whose hash was returned is mined without being
// sent again, and no receipt that was seen has changed.
func survivesKill(c *chaintest.Client) {
	const senders = 6
	c.Run()
	to := c.NewAccount(0).Address()
	accounts := make([]*chaintest.Account, senders)
	for i := range accounts {
		accounts[i] = c.NewAccount(10)
	}
	seen := map[common.Hash]chaintest.Receipt{}
	for range quicktest.Of(3, 8) { // services/chain/soak kills it more often
		accepted := make([][]*types.Transaction, senders)
		var all sync.WaitGroup
		var count atomic.Int64
		moment, reached := int64(1+rand.IntN(100)), make(chan struct{})
		for i, from := range accounts {
			all.Go(func() {
				for {
					tx := from.At(from.Nonce, to, 1)
					if c.Try(nil, "eth_sendRawTransaction", chaintest.Raw(tx)) != nil {
						return // killed
					}
					from.Nonce++
					accepted[i] = append(accepted[i], tx)
					if count.Add(1) == moment {
						close(reached)
					}
				}
			})
		}
		<-reached
		c.Kill()
		all.Wait()
		c.Run()
		for i, txs := range accepted {
			for _, tx := range txs {
				seen[tx.Hash()] = *c.Receipt(tx.Hash())
			}
			accounts[i].Nonce = c.Nonce(accounts[i].Address(), "pending") // one may have been accepted without an answer
		}
		for hash, was := range seen {
			if r := c.TryReceipt(hash); r == nil || fmt.Sprint(r.BlockHash, r.TransactionIndex, r.GasUsed, r.Status) != fmt.Sprint(was.BlockHash, was.TransactionIndex, was.GasUsed, was.Status) {
				c.T.Fatalf("the receipt was %+v, is %+v", was, r)
			}
		}
	}
}

// gapSurvivesKill: what waits goes on waiting, and is mined when its turn comes.
func gapSurvivesKill(c *chaintest.Client) {
	c.Run()
	from, to := c.NewAccount(1), c.NewAccount(0).Address()
	first, second, third := from.Send(to, 1), from.Send(to, 1), from.Send(to, 1)
	c.Send(second)
	c.Send(third)
	c.Kill()
	c.Run()
	c.Refused(c.TrySend(second), -32000, "already known")
	c.Send(first)
	minedTogether(c, []*types.Transaction{first, second, third}, nil)
}

// goesOn: after a stop the chain is the same, and grows.
func goesOn(c *chaintest.Client) {
	c.Run()
	from, to := c.NewAccount(1), c.NewAccount(0).Address()
	var txs []*types.Transaction
	for range 10 {
		txs = append(txs, from.Send(to, 1))
		c.Mine(txs[len(txs)-1])
	}
	number := chaintest.Get[hexutil.Uint64](c, "eth_blockNumber")
	block := chaintest.Get[*chaintest.Block](c, "eth_getBlockByNumber", number, false)
	c.Stop()
	c.Run()
	if again := chaintest.Get[*chaintest.Block](c, "eth_getBlockByNumber", number, false); again == nil || again.Hash != block.Hash {
		c.T.Fatalf("block %d was %v, is %+v", number, block.Hash, again)
	}
	c.Refused(c.TrySend(txs[3]), -32000, "already known")
	r := c.Mine(from.Send(to, 1))
	if after := chaintest.Get[*chaintest.Block](c, "eth_getBlockByHash", r.BlockHash, false); after.Header.Number.Uint64() != uint64(number)+1 || after.Header.ParentHash != block.Hash {
		c.T.Fatalf("block %d follows %d", after.Header.Number, number)
	}
	if c.Balance(to).Int64() != 11 {
		c.T.Fatalf("%d wei", c.Balance(to))
	}
}

// answersUnderWay: every request that the program received before it ends is answered.
func answersUnderWay(c *chaintest.Client) {
	c.Env.LameDuck = time.Second
	c.Run()
	lameducktest.Run(c.T, lameducktest.Program{
		Dial: func() (net.Conn, error) { return net.Dial("tcp", strings.TrimPrefix(c.Program.URL, "http://")) },
		Request: func(connection, n int) string {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"eth_blockNumber","params":[]}`, n)
			return fmt.Sprintf("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		},
		Good:   func(r *http.Response) bool { return r.StatusCode == http.StatusOK },
		Ready:  lameducktest.Readyz(c.Program.Debug),
		Window: c.Env.LameDuck,
		Stop:   c.Stop,
	})
}
