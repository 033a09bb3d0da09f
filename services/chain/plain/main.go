// Chain-plain is the chain node as one writes it on the first day with go-ethereum: its rpc.Server
// over HTTP and WebSocket, a map of waiting transactions behind a mutex, core/state over a triedb
// in memory, and a block for each transaction. It is step 0 of chaind's ladder and does what the
// ladder's load needs (chaintest/core), so that the cost of chaind's seams shows. Accepted
// transactions and sealed blocks are in one file that only grows; they are synced before an answer
// names them, and executed again at the start.
//
// It is not for production: it knows the development chain only, keeps every block in memory, and a
// start takes as long as all blocks took.
package main

import (
	"context"
	"flag"
	"log/slog"
	"net/http"
	"time"

	"dyno/agent"
	"dyno/parts/standalone"

	"github.com/ethereum/go-ethereum/rpc"
)

const (
	maxBody   = 5 << 20  // bytes of a request
	maxArray  = 1000     // calls in an array
	maxAnswer = 25 << 20 // bytes of the answer to an array
)

func main() {
	data := flag.String("data", "chain-plain-data", "`folder` of the chain; made if it is missing")
	standalone.Main("chain-plain", func(_ context.Context, inside *agent.Agent) (standalone.Service, error) {
		n, err := openNode(*data)
		if err != nil {
			return standalone.Service{}, err
		}
		inside.Gauge("blockchain_pool_transactions", func() float64 { return float64(n.pool.size()) })
		calls, err := newCalls(n)
		if err != nil {
			return standalone.Service{}, err
		}
		web := &http.Server{Handler: handler(calls), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
			WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
		return standalone.Service{Server: web, Close: func() {
			calls.Stop()
			if err := n.close(); err != nil {
				slog.Error("the log was not closed", "error", err)
			}
		}}, nil
	})
}

// newCalls registers the methods.
func newCalls(n *node) (*rpc.Server, error) {
	calls := rpc.NewServer()
	calls.SetHTTPBodyLimit(maxBody)
	calls.SetWebsocketReadLimit(maxBody)
	calls.SetBatchLimits(maxArray, maxAnswer)
	return calls, calls.RegisterName("eth", &eth{n})
}

// handler serves both transports at the same path. Foreign pages are refused before it.
func handler(calls *rpc.Server) http.Handler {
	sockets := calls.WebsocketHandler([]string{"*"})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/":
			http.NotFound(w, r)
		case r.Header.Get("Upgrade") != "":
			sockets.ServeHTTP(w, r)
		default:
			calls.ServeHTTP(w, r)
		}
	})
}
