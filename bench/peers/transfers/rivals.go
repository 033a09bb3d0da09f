package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"dyno/bench/peers/callers"
	"dyno/parts/freeport"
)

// rival is a node that the program starts.
type rival struct {
	name, program, genesis, data string
	period                       int
}

// start starts the rival, and returns its dialect and URL once it takes connections.
func (r rival) start(ctx context.Context) (kind dialect, url string, stop func(), err error) {
	if r.program == "" || r.data == "" {
		return kind, "", nil, errors.New("--rival needs --program and --data")
	}
	free, err := freeport.Loopback(1)
	if err != nil {
		return kind, "", nil, err
	}
	host := free[0].String()
	var prepare, serve []string
	switch r.name {
	case "geth":
		kind = ethereum
		if r.genesis == "" {
			return kind, "", nil, errors.New("--rival geth needs --genesis")
		}
		prepare, serve = r.geth(host)
	case "anvil":
		kind = ethereum
		if r.genesis == "" {
			return kind, "", nil, errors.New("--rival anvil needs --genesis")
		}
		prepare, serve = r.anvil(host)
	case "cometbft":
		kind = cometbft
		prepare, serve = r.cometbft(host)
	default:
		return kind, "", nil, fmt.Errorf("--rival %s: there are geth, anvil and cometbft", r.name)
	}
	if out, err := exec.CommandContext(ctx, prepare[0], prepare[1:]...).CombinedOutput(); err != nil {
		return kind, "", nil, fmt.Errorf("preparing %s, which `make rivals` builds: %w: %.300s", r.name, err, out)
	}
	stop, err = callers.Child("make rivals", serve...)
	if err != nil {
		return kind, "", nil, err
	}
	url = "http://" + host + "/"
	if err := callers.Await(ctx, startLimit, func(ctx context.Context) error {
		s, err := dial(ctx, socketOf(url, kind))
		if err == nil {
			s.conn.CloseNow()
		}
		return err
	}); err != nil {
		stop()
		return kind, "", nil, fmt.Errorf("starting %s: %w", r.name, err)
	}
	return kind, url, stop, nil
}

// geth returns the commands of go-ethereum's dev mode. Its pool and its blocks hold more than is
// ever in flight, the miner takes any price, and no index of logs is made.
func (r rival) geth(host string) (prepare, serve []string) {
	address, port, _ := net.SplitHostPort(host)
	return []string{r.program, "init", "--datadir", r.data, r.genesis},
		[]string{r.program, "--dev", "--dev.period", strconv.Itoa(r.period), "--datadir", r.data, "--verbosity", "1",
			"--http", "--http.addr", address, "--http.port", port, "--http.api", "eth", "--rpc.http-body-limit", "32",
			"--ws", "--ws.addr", address, "--ws.port", port, "--ws.api", "eth", "--ipcdisable", "--nodiscover", "--authrpc.port", "0",
			"--txpool.accountslots", "100000", "--txpool.globalslots", "1000000",
			"--txpool.accountqueue", "100000", "--txpool.globalqueue", "1000000", "--txpool.pricelimit", "1",
			"--miner.gasprice", "1", "--miner.gaslimit", "1000000000", "--history.logs.disable"}
}

// anvil returns the commands of Foundry's test node, which makes a block of each transfer. --version
// has it say that it is there.
func (r rival) anvil(host string) (prepare, serve []string) {
	address, port, _ := net.SplitHostPort(host)
	return []string{r.program, "--version"},
		[]string{r.program, "--host", address, "--port", port, "--init", r.genesis, "--quiet"}
}

// cometbft returns the commands of a single validator with the kvstore in its process. It waits for
// nothing between blocks, makes no empty ones, indexes nothing, and checks no pair a second time.
func (r rival) cometbft(host string) (prepare, serve []string) {
	settings := []string{"consensus.timeout_commit=0s", "consensus.create_empty_blocks=false",
		"mempool.size=1000000", "mempool.cache_size=1000000", "mempool.max_txs_bytes=1073741824", "mempool.recheck=false", "mempool.broadcast=false",
		"tx_index.indexer=null", "storage.discard_abci_responses=true",
		"rpc.max_request_batch_size=10000", "rpc.max_open_connections=10000", "rpc.max_body_bytes=33554432"}
	serve = []string{"env"}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		serve = append(serve, "CMT_"+strings.ToUpper(strings.ReplaceAll(name, ".", "_"))+"="+value)
	}
	return []string{r.program, "init", "--home", r.data},
		append(serve, r.program, "start", "--home", r.data, "--proxy_app", "kvstore", "--log_level", "error",
			"--rpc.laddr", "tcp://"+host, "--p2p.laddr", "tcp://127.0.0.1:0")
}

// startLimit bounds the start of a rival.
const startLimit = 25 * time.Second
