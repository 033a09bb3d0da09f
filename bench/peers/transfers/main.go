// Command transfers sends signed transfers to a chain node in the closed model, each once, and
// prints those that are in blocks as the windows of a job; or it recovers the senders of the same
// transfers on all cores and does nothing else, which is what every node must do at least.
//
//	transfers --rows rows.ndjson --work signatures
//	transfers --rows rows.ndjson --work commits --url http://127.0.0.1:8545/ --array 100
//	transfers --rows rows.ndjson --work commits --url ws://127.0.0.1:8545/ ...
//	transfers --rows rows.ndjson --work commits --rival geth --program FILE --genesis FILE --data DIR
//	transfers --rows rows.ndjson --work commits --rival anvil --program FILE --genesis FILE --data DIR
//	transfers --rows rows.ndjson --work commits --rival cometbft --program FILE --data DIR
//
// Rows are the lines of chaind gen --format rows. A connection has one array in flight, or with
// --array 1 one call, from when it is sent until as many transfers are in blocks as were accepted
// until then; an array of which a member is refused ends the program. Blocks are counted by the gas
// that their announcements name. A rival is started as a process of the job, with settings that
// favour its rate. CometBFT's kvstore, which knows no transfers, gets as many pairs of a key and a
// value, as long as the transfers; its announcements name their number.
//
// It is not for other transactions, nor for load at a rate (dyno run is). It owns a goroutine for
// each connection or core, and one for the announcements; the rival has ended when it ends.
package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"

	"dyno/bench/peers/callers"

	"github.com/ethereum/go-ethereum/core/types"
)

type options struct {
	rows, work, url    string
	array, connections int
	rival              rival
}

func main() {
	var o options
	flag.StringVar(&o.rows, "rows", "", "`file` of transfers")
	flag.StringVar(&o.work, "work", "commits", "commits or signatures")
	flag.StringVar(&o.url, "url", "", "`URL` of the node, http or ws")
	flag.IntVar(&o.array, "array", 100, "calls in an array")
	flag.IntVar(&o.connections, "connections", 32, "connections, each with one array in flight")
	flag.StringVar(&o.rival.name, "rival", "", "geth, anvil or cometbft: start it, instead of --url")
	flag.StringVar(&o.rival.program, "program", "", "`file` of the rival's program")
	flag.StringVar(&o.rival.genesis, "genesis", "", "`file` of the genesis of geth or anvil, which chaind gen writes")
	flag.StringVar(&o.rival.data, "data", "", "empty `folder` of the rival's chain")
	flag.IntVar(&o.rival.period, "period", 0, "`seconds` from one block of geth to the next; 0: as soon as there are transfers")
	flag.Parse()
	callers.Main("transfers", func(ctx context.Context) error { return o.run(ctx, os.Stdout) })
}

// run works until ctx ends, or no transfer is left.
func (o options) run(ctx context.Context, out io.Writer) error {
	raws, err := readRows(o.rows)
	switch {
	case err != nil:
		return err
	case o.work == "signatures":
		return signatures(ctx, out, raws)
	case o.work != "commits":
		return fmt.Errorf("--work %s: there are commits and signatures", o.work)
	case o.array < 1 || o.array > len(raws):
		return fmt.Errorf("--array %d: there are %d transfers", o.array, len(raws))
	case o.rival.name == "":
		return o.commits(ctx, out, ethereum, raws)
	}
	kind, url, stop, err := o.rival.start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	o.url = url
	return o.commits(ctx, out, kind, raws)
}

// perCall is the number of senders that are recovered in a call: enough that a call's own cost does
// not count.
const perCall = 16

// signatures recovers senders, over and over.
func signatures(ctx context.Context, out io.Writer, raws []string) error {
	txs := make([]*types.Transaction, min(len(raws), 20_000)/perCall*perCall)
	if len(txs) == 0 {
		return fmt.Errorf("%d transfers are too few", len(raws))
	}
	for i := range txs {
		raw, err := hex.DecodeString(raws[i])
		if err != nil {
			return err
		}
		txs[i] = new(types.Transaction)
		if err := txs[i].UnmarshalBinary(raw); err != nil {
			return err
		}
	}
	signer := types.LatestSignerForChainID(txs[0].ChainId())
	var next atomic.Int64
	return callers.Run(ctx, out, runtime.GOMAXPROCS(0), perCall, func(int) (func() error, error) {
		return func() error {
			from := int(next.Add(perCall)-perCall) % len(txs)
			for _, tx := range txs[from : from+perCall] {
				if _, err := signer.Sender(tx); err != nil { // types.Sender would remember it
					return err
				}
			}
			return nil
		}, nil
	})
}

// readRows returns the transfers in hexadecimal, without 0x.
func readRows(path string) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--rows: %w", err)
	}
	defer file.Close()
	var raws []string
	for lines := bufio.NewScanner(file); ; {
		if !lines.Scan() {
			return raws, lines.Err()
		}
		var row struct{ Raw string }
		err := json.Unmarshal(lines.Bytes(), &row)
		raw, ok := strings.CutPrefix(row.Raw, "0x")
		if err != nil || !ok {
			return nil, errors.Join(fmt.Errorf("--rows %s: %.30q is no row of chaind gen", path, lines.Text()), err)
		}
		raws = append(raws, raw)
	}
}
