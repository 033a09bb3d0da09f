package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/sim/limits"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// simFlags are what the command takes and Config has in other words.
type simFlags struct {
	sim.Config
	faults      []string
	complete    string
	memory      int64 // MiB
	tls         bool
	cert, key   string
	certificate string // file that the certificate is written to
	maxTLS      string
	unsynced    bool
}

// simCommand plays a server.
func simCommand() *cobra.Command {
	var f simFlags
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Play a server of the XRP Ledger, with limits and faults",
		Long: `Sim serves a made-up chain in which every hash and signature is right, or real ledgers from a file, as rippled or
Clio would: by JSON-RPC and WebSocket on one port, with their limits on request (--limits). It injects faults, which the
same seeds repeat. It prints one JSON line when all ledgers are made; earlier requests wait. It also serves:
  GET /unl             the list of its validators, as a publisher has it on the web
  GET /sim/injected    what it has sent and which faults, as JSON
Faults (--fault KIND=RATE), each with the probability RATE, from 0 to 1:
` + fault.Help(),
		Example: `  ledgersync sim --listen 127.0.0.1:5005 --ledgers 1000
  ledgersync sim --ledgers 100000 --distinct 256 --limits clio
  ledgersync sim --ledgers 500 --fault flip=0.01 --fault cut=0.02 --fault error=0.05 --fault-seed 7
  ledgersync sim --ledgers 2000 --complete 90000001-90000900,90001000-90002000
  ledgersync sim --ledgers 100 --tip-every 4s --validators 5
  ledgersync sim --replay ledgers.jsonl --tls --tls-write cert.pem --delay 40ms`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.finish(); err != nil {
				return daemon.Usage(err)
			}
			return runSim(cmd.Context(), &f, cmd.OutOrStdout())
		},
	}
	f.register(cmd)
	return cmd
}

func (f *simFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.Listen, "listen", "127.0.0.1:0", "address for JSON-RPC and WebSocket")
	declareChain(fs, &f.Spec)
	fs.Int64Var(&f.memory, "memory", chain.DefaultMemory>>20, "MiB of answers kept in memory; more go to a temporary file")
	fs.StringVar(&f.Replay, "replay", "", "serve the ledgers in `FILE`, one answer to ledger with binary: true a line")
	fs.StringVar(&f.complete, "complete", "", "the `RANGES` of ledgers that it has, such as 100-200,300-400 (default all)")
	fs.StringVar(&f.Software, "software", "", "rippled or clio (default: as --limits)")
	fs.StringVar(&f.Limits, "limits", limits.None, "none; rippled: about 250 requests/s to a warning; clio: 20 requests/s, 1 MB/s, 20 connections")
	fs.StringArrayVar(&f.faults, "fault", nil, "go wrong in this way with this probability: `KIND=RATE`; repeatable")
	fs.Uint64Var(&f.FaultSeed, "fault-seed", 0, "seed of the faults (0: --seed)")
	fs.DurationVar(&f.Delay, "delay", 0, "delay of each answer")
	fs.DurationVar(&f.StallFor, "stall-for", sim.DefaultStall, "how long a stalled request is held")
	fs.BoolVar(&f.unsynced, "unsynced", false, "have lost the network")
	fs.DurationVar(&f.TipEvery, "tip-every", 0, "interval at which a new ledger closes (0: never)")
	fs.IntVar(&f.Validators, "validators", chain.DefaultValidators, "validators that sign each new ledger")
	fs.BoolVar(&f.tls, "tls", false, "speak TLS, with a certificate that is made for it")
	fs.StringVar(&f.certificate, "tls-write", "", "write that certificate to `FILE`, for clients to trust")
	fs.StringVar(&f.cert, "tls-cert", "", "speak TLS with the certificate in `FILE`")
	fs.StringVar(&f.key, "tls-key", "", "the certificate's key")
	fs.StringVar(&f.maxTLS, "tls-max", "1.3", "highest version of TLS: 1.2 or 1.3")
	fs.BoolVar(&f.NoHTTP2, "no-http2", false, "speak HTTP/1.1 only")
}

// finish turns the flags into a Config. Its errors are mistakes of the user.
func (f *simFlags) finish() (err error) {
	if f.Faults, err = fault.ParseRates(f.faults); err != nil {
		return err
	}
	if f.complete != "" {
		if f.Complete, err = history.ParseSet(f.complete); err != nil {
			return fmt.Errorf("--complete: %w", err)
		}
		if f.Complete == nil {
			f.Complete = history.Set{} // "empty"
		}
	}
	f.Memory = max(1, f.memory<<20) // 0 would be the default
	switch f.maxTLS {
	case "1.2":
		f.MaxTLS = tls.VersionTLS12
	case "1.3":
	default:
		return fmt.Errorf("--tls-max %q is not 1.2 or 1.3", f.maxTLS)
	}
	f.SelfSigned = f.tls
	if f.certificate != "" && !f.tls {
		return errors.New("--tls-write writes the certificate that --tls makes; give --tls, too")
	}
	if f.cert != "" || f.key != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return fmt.Errorf("--tls-cert and --tls-key: %w", err)
		}
		f.Certificate = &pair
	}
	if err := inBounds(bound{"validators", int64(f.Validators), 1, chain.MaxValidators}, bound{"memory", f.memory, 0, maxMemory}); err != nil {
		return err
	}
	if err := checkChain(&f.Spec); err != nil {
		return err
	}
	return f.Config.Check()
}

// declareChain declares the flags of a made-up chain.
func declareChain(fs *pflag.FlagSet, s *chain.Spec) {
	fs.Uint32Var(&s.First, "first", chain.DefaultFirst, "index of the lowest ledger")
	fs.IntVar(&s.Ledgers, "ledgers", chain.DefaultLedgers, "number of ledgers")
	fs.IntVar(&s.Transactions, "transactions", chain.DefaultTransactions, "transactions in each ledger")
	fs.Uint64Var(&s.Seed, "seed", 0, "seed of the chain: the same seed gives the same bytes")
	fs.IntVar(&s.Distinct, "distinct", 0, "number of ledgers with transactions signed for them; the others repeat those transactions under their own headers, so that a transaction is in several ledgers (0: all)")
}

// checkChain refuses what is out of bounds, and zeros that a Spec would take for its default.
func checkChain(s *chain.Spec) error {
	err := inBounds(
		bound{"first", int64(s.First), 1, 1<<32 - 1 - chain.MaxLedgers},
		bound{"ledgers", int64(s.Ledgers), 1, chain.MaxLedgers},
		bound{"transactions", int64(s.Transactions), 0, xrpl.MaxTransactions},
		bound{"distinct", int64(s.Distinct), 0, chain.MaxLedgers},
	)
	if err == nil && s.Transactions == 0 {
		s.Transactions = -1 // none, as Spec has it
	}
	return err
}

// bound is the range of a flag's values.
type bound struct {
	flag            string
	value, min, max int64
}

func inBounds(all ...bound) error {
	for _, b := range all {
		if b.value < b.min || b.value > b.max {
			return fmt.Errorf("--%s %d is not %d to %d", b.flag, b.value, b.min, b.max)
		}
	}
	return nil
}

// maxMemory is in MiB: more than a machine has.
const maxMemory = 1 << 20

// runSim serves until ctx ends.
func runSim(ctx context.Context, f *simFlags, ready io.Writer) (err error) {
	s, err := sim.Start(f.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	s.SetSynced(!f.unsynced)
	if f.certificate != "" {
		if err := os.WriteFile(f.certificate, s.PEM(), 0o644); err != nil {
			return fmt.Errorf("--tls-write: %w", err)
		}
	}
	switch err := s.Made(ctx); {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	err = json.NewEncoder(ready).Encode(map[string]any{
		"ready": true, "service": "ledgersync sim", "listen": s.Addr().String(), "debug": "", "pid": os.Getpid(),
		"url": s.URL(), "complete_ledgers": s.Complete().String(),
	})
	if err != nil {
		return fmt.Errorf("printing the ready line: %w", err)
	}
	<-ctx.Done()
	return nil
}
