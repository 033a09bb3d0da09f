package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/answer"
)

// mint makes three ledgers of two transactions, from 100 on.
func mint(t *testing.T) (all []*xrpl.Ledger) {
	t.Helper()
	c, err := chain.New(chain.Spec{First: 100, Ledgers: 3, Transactions: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range uint32(3) {
		l, err := c.Ledger(t.Context(), 100+i)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

func jsonl(all []*xrpl.Ledger) string {
	var text []byte
	for _, l := range all {
		text = append(answer.AppendLine(text, l), '\n')
	}
	return string(text)
}

func runVerify(t *testing.T, stdin string, args ...string) (stdout string, err error) {
	t.Helper()
	cmd := verifyCommand()
	var out bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestVerify(t *testing.T) {
	all := mint(t)
	good := jsonl(all)
	all[1].Transactions[0].Blob[30] ^= 1
	bad := jsonl(all)
	path := filepath.Join(t.TempDir(), "good.jsonl")
	if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, stdin string
		args        []string
		want, wrong string // in what is printed, in the error
	}{
		{"JSON", "", []string{path, "--level", "L4", "--json"},
			`{"ledgers":3,"verified":3,"transactions":6,"signatures":6,"links":2,"failed":[],"marked":[]}` + "\n", ""},
		{"text", "", []string{path, "--level", "l2"}, "3 of 3 ledgers verified at L2: 6 transactions, 0 signatures, 2 links\n", ""},
		{"the pure checker", "", []string{path, "--signatures", "pure", "--workers", "1"}, "6 signatures", ""},
		{"stdin", good, []string{"-", "--json"}, `"verified":3`, ""},
		{"tampered, JSON", bad, []string{"-", "--json"}, `"failed":[{"line":2,"ledger_index":101,"reason":"wrong transaction tree: `, "1 of 3 ledgers failed"},
		{"tampered, text", bad, []string{"-"}, "line 2, ledger 101: ", "1 of 3 ledgers failed"},
		{"nothing", "\n", []string{"-", "--json"}, `"ledgers":0`, "no ledger"},
		{"no file", "", []string{filepath.Join(t.TempDir(), "none")}, "", "no such file"},
		{"no argument", "", nil, "", "verify wants one FILE, as in ledgersync verify ledgers.jsonl; - is stdin"},
		{"two lines that are short", "1\n2\n", []string{"-", "--json"}, `{"line":2,`, "2 of 2 ledgers failed"},
		{"two arguments", "", []string{path, path}, "", "verify wants one FILE"},
		{"a folder", "", []string{filepath.Dir(path)}, "", " is a folder; name a file"},
		{"an unknown level", "", []string{path, "--level", "L5"}, "", `--level: level "L5": there are L0 to L4`},
		{"fewer workers than none", "", []string{path, "--workers", "-1"}, "", "--workers -1: "},
		{"an unknown checker", "", []string{path, "--signatures", "slow"}, "", "there are"},
	} {
		out, err := runVerify(t, c.stdin, c.args...)
		if !strings.Contains(out, c.want) {
			t.Errorf("%s prints %q, without %q", c.name, out, c.want)
		}
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, without %q", c.name, err, c.wrong)
		}
	}
}

// Progress appears on stderr; the length of stdin is unknown.
func TestVerifyShowsProgress(t *testing.T) {
	text := jsonl(mint(t))
	path := filepath.Join(t.TempDir(), "good.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{path: "1 of 1 MB (100.0%)\n", "-": "1 MB\n"} {
		cmd := verifyCommand()
		var said bytes.Buffer
		cmd.SetArgs([]string{name})
		cmd.SetIn(strings.NewReader(text))
		cmd.SetOut(io.Discard)
		cmd.SetErr(&said)
		if err := cmd.ExecuteContext(t.Context()); err != nil || said.String() != want {
			t.Errorf("%s: %q, %v", name, said.String(), err)
		}
	}
}

func TestVerifyIsInterrupted(t *testing.T) {
	cmd := verifyCommand()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd.SetArgs([]string{"-"})
	cmd.SetIn(strings.NewReader(jsonl(mint(t))))
	cmd.SetErr(io.Discard)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
