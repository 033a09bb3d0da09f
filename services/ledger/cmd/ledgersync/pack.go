package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/parts/output"
	"dyno/parts/progress"
	"dyno/services/ledger/store"
	"dyno/services/ledger/store/folder"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
	"dyno/services/ledger/xrpl/pack"
)

// packCommand writes packs.
func packCommand() *cobra.Command {
	var data, out string
	var r history.Range
	cmd := &cobra.Command{
		Use:   "pack -o FILE",
		Short: "Write stored ledgers into a file to hand to others",
		Long: `Pack writes a range of stored ledgers, compressed and with checksums, into one file. Unpack proves every
ledger again, down from the hash of the top one. Pack prints that hash: send it to the recipient over a trusted channel.`,
		Example: `  ledgersync pack --data history -o history.pack
  ledgersync pack --data history --from 90000000 --to 90000999 -o - | ssh elsewhere ledgersync unpack - --data history`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return daemon.Usage(errors.New("-o FILE says where the pack goes; - is stdout"))
			}
			return packTo(cmd, data, out, r)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&data, "data", folder.Default, "the data folder `DIR`")
	flags.Uint32Var(&r.From, "from", 0, "the lowest ledger `INDEX` (default: the lowest stored)")
	flags.Uint32Var(&r.To, "to", 0, "the highest ledger `INDEX` (default: the highest stored)")
	flags.StringVarP(&out, "output", "o", "", "the `FILE` to write; - is stdout")
	return cmd
}

func packTo(cmd *cobra.Command, data, out string, r history.Range) (err error) {
	s, err := folder.Open(data, store.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if r, err = s.Span(r); err != nil {
		return daemon.Usage(err)
	}
	var done atomic.Int64
	bar := progress.Show(cmd.ErrOrStderr(), "ledgers", func() progress.State { return progress.State{Done: done.Load(), Total: int64(r.Len())} })
	var head pack.Head
	err = output.To(out, cmd.OutOrStdout(), func(w io.Writer) (err error) {
		head, err = pack.Write(cmd.Context(), w, s, r, func(n int) { done.Store(int64(n)) })
		return err
	})
	bar.Close()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "packed %d ledgers (%v); ledger %d is %v\n", r.Len(), r, r.To, head.Top)
	return err
}

// unpackCommand reads packs.
func unpackCommand() *cobra.Command {
	var data, anchor, level string
	cmd := &cobra.Command{
		Use:   "unpack FILE",
		Short: "Prove the ledgers of a pack and store them",
		Long: `Unpack reads a file that pack wrote (- is stdin), proves every ledger down from the top one, and stores what it
proved. With --anchor you give the hash of the top ledger; without it you trust the author of the pack for it, unless
the ledger above it is stored already. A folder that was proved further than --level says is proved so far from then on:
its level is that of all that is in it.`,
		Example: `  ledgersync unpack history.pack --data history --anchor 90000999:5D1C...
  ledgersync unpack history.pack --data history --level L4`,
		Args: command.Arguments(1, 1, "unpack wants one FILE, as in ledgersync unpack history.pack; - is stdin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := unpackOptions(level, anchor)
			if err != nil {
				return daemon.Usage(err)
			}
			return unpackFrom(cmd, args[0], data, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&data, "data", folder.Default, "the data folder `DIR`")
	flags.StringVar(&anchor, "anchor", "", "`INDEX:HASH` of the pack's top ledger, from a source that you trust")
	flags.StringVar(&level, "level", "", "how much is proved: `LEVEL` L2 (every byte, down from the top ledger) or L4 (signatures, too); without it, as the folder was, and L2 for a new one")
	return cmd
}

func unpackOptions(level, anchor string) (o folder.UnpackOptions, err error) {
	if level != "" {
		if o.Level, err = trust.ParseLevel(level); err != nil {
			return o, fmt.Errorf("--level: %w", err)
		}
		if o.Level != trust.L2 && o.Level != trust.L4 {
			return o, fmt.Errorf("--level %v: a pack is proved at L2 or at L4", o.Level)
		}
	}
	if anchor == "" {
		return o, nil
	}
	index, hash, _ := strings.Cut(anchor, ":")
	n, err := strconv.ParseUint(index, 10, 32)
	if err != nil || n == 0 {
		return o, fmt.Errorf("--anchor %s: want INDEX:HASH, such as 90000999:5D1C (64 digits)", anchor)
	}
	o.Anchor.Index = uint32(n)
	if o.Anchor.Hash, err = xrpl.ParseHash(hash); err != nil {
		return o, fmt.Errorf("--anchor: %w", err)
	}
	return o, nil
}

func unpackFrom(cmd *cobra.Command, name, data string, o folder.UnpackOptions) (err error) {
	from := cmd.InOrStdin()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return daemon.Usage(fmt.Errorf("%s is a folder; name a pack", name))
		}
		from = f
	}
	s, err := folder.Open(data, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var done, total atomic.Int64
	o.Begun = func(h pack.Head) { total.Store(int64(h.Range.Len())) }
	o.Stored = func(n int) { done.Store(int64(n)) }
	bar := progress.Show(cmd.ErrOrStderr(), "ledgers", func() progress.State { return progress.State{Done: done.Load(), Total: total.Load()} })
	u, err := folder.Unpack(cmd.Context(), from, s, o)
	bar.Close()
	if err != nil {
		return fmt.Errorf("unpacking %s (%d ledgers were proved and stored): %w", name, u.Ledgers, err)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "unpacked %d ledgers (%v), %d transactions, %d signatures\nthat ledger %d is %v stands on the word of %s; everything below is proved from it\n",
		u.Ledgers, u.Head.Range, u.Transactions, u.Signatures, u.Head.Range.To, u.Head.Top, u.Word)
	return err
}
