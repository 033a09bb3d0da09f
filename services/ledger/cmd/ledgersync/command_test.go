package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyno/services/ledger/store"
	"dyno/services/ledger/store/folder"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/answer"
	"dyno/services/ledger/xrpl/pack"
	"dyno/services/ledger/xrpl/xrpltest"

	"github.com/spf13/cobra"
)

func mustAppend(t *testing.T, s *store.Store, chain []*xrpl.Ledger) {
	t.Helper()
	if err := s.Append(chain, store.Progress{From: chain[0].Index, To: chain[len(chain)-1].Index}); err != nil {
		t.Fatal(err)
	}
}

func execute(cmd *cobra.Command, args ...string) (stdout, stderr string, err error) {
	var out, complaint bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&complaint)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.Execute()
	return out.String(), complaint.String(), err
}

// Ctrl-C ends a check with a line that says so, and releases the folder.
func TestCheckIsInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s, err := folder.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, xrpltest.Chain(1, 5, 3, 2))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := checkCommand()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd.SetContext(ctx)
	if out, _, err := execute(cmd, "--data", dir); !errors.Is(err, context.Canceled) || out != "" {
		t.Errorf("%q, %v", out, err)
	}
	if _, _, err := execute(checkCommand(), "--data", dir); err != nil {
		t.Errorf("again: %v", err)
	}
}

// What cannot be printed has not been said.
func TestWriteErrorsAreErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s, err := folder.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	chain := xrpltest.Chain(1, 5, 3, 2)
	mustAppend(t, s, chain)
	if err := errors.Join(s.Evidence().Keep(store.WrongAnswer{Ledger: *chain[0]}), s.Close()); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the pipe is full")
	for name, c := range map[string]struct {
		cmd  *cobra.Command
		args []string
	}{
		"check":           {checkCommand(), nil},
		"check --json":    {checkCommand(), []string{"--json"}},
		"evidence":        {evidenceCommand(), nil},
		"evidence 1":      {evidenceCommand(), []string{"1"}},
		"evidence --json": {evidenceCommand(), []string{"--json"}},
	} {
		c.cmd.SetOut(failing{full})
		c.cmd.SetErr(io.Discard)
		c.cmd.SetArgs(append(c.args, "--data", dir))
		c.cmd.SilenceErrors, c.cmd.SilenceUsage = true, true
		if err := c.cmd.Execute(); !errors.Is(err, full) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestCheckAndEvidence(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s, err := folder.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	chain := xrpltest.Chain(1, 5, 3, 2)
	mustAppend(t, s, chain)
	if err := s.Evidence().Keep(store.WrongAnswer{Server: "http://a", Index: 7, Reason: "too short", Ledger: *chain[2]}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := execute(checkCommand(), "--data", dir); err == nil || !strings.Contains(err.Error(), "in use by process") {
		t.Fatalf("checked a folder in use: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if out, _, err := execute(checkCommand(), "--data", dir); err != nil || !strings.Contains(out, "3 ledgers (5-7), 6 transactions, 2 links, 0 signatures: 0 failures") {
		t.Fatalf("%s, %v", out, err)
	}
	out, _, err := execute(checkCommand(), "--data", dir, "--json", "--level", "L4")
	var report folder.CheckReport
	if e := json.Unmarshal([]byte(out), &report); e != nil || err == nil || !strings.Contains(err.Error(), "not clean: 3 ledgers have their hashes") || len(report.Failed) != 3 {
		t.Fatalf("%s, %v, %v", out, err, e)
	}
	if out, _, err := execute(evidenceCommand(), "--data", dir); err != nil || !strings.Contains(out, "too short") {
		t.Fatalf("%s, %v", out, err)
	}
	if out, _, err := execute(evidenceCommand(), "--data", dir, "--json"); err != nil || !json.Valid([]byte(out)) {
		t.Fatalf("%s, %v", out, err)
	}
	if out, _, err := execute(evidenceCommand(), "1", "--data", dir); err != nil || out != string(answer.AppendLine(nil, chain[2]))+"\n" {
		t.Fatalf("%s, %v", out, err)
	}
	if out, _, err := execute(evidenceCommand(), "5", "--data", dir); err == nil || err.Error() != "there is no wrong answer 5; ledgersync evidence lists them" || out != "" {
		t.Errorf("%s, %v", out, err)
	}
	missing := filepath.Join(t.TempDir(), "none")
	for want, args := range map[string][]string{"there are L0 to L4": {"--level", "L9"}, "holds no data of ledgersync": {"--data", missing}, "takes no arguments": {"x"}} {
		if _, _, err := execute(checkCommand(), args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
	if _, err := os.Stat(missing); !os.IsNotExist(err) {
		t.Errorf("looking made the folder: %v", err)
	}
}

func TestExport(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	s, err := folder.Open(data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	chain := xrpltest.Chain(1, 5, 20, 2)
	if err := errors.Join(s.Append(append(chain[:5:5], chain[10:]...), store.Progress{From: 5, To: 24}), s.Close()); err != nil {
		t.Fatal(err)
	}
	out, _, err := execute(exportCommand(), "--data", data) // gaps are left out
	r, e := trust.VerifyFile(t.Context(), strings.NewReader(out), trust.Options{Level: trust.L2})
	if err := errors.Join(err, e); err != nil || r.Ledgers != 15 || len(r.Failed) > 0 || r.Links != 13 {
		t.Fatalf("%+v, %v", r, err)
	}
	file := filepath.Join(dir, "x.parquet")
	if _, _, err := execute(exportCommand(), "--data", data, "--format", "parquet", "--from", "15", "--to", "16", "-o", file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || !bytes.HasPrefix(text, []byte("PAR1")) {
		t.Fatalf("%.20q, %v", text, err)
	}
	cmd := exportCommand()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	cmd.SetContext(over)
	if _, _, err := execute(cmd, "--data", data); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for want, args := range map[string][]string{
		"are not stored":              {"--data", data, "--from", "5"},
		"there are ndjson, parquet":   {"--data", data, "--format", "csv"},
		"is there already":            {"--data", data, "-o", file},
		"takes no arguments":          {"x"},
		"holds no data of ledgersync": {"--data", filepath.Join(dir, "none")},
	} {
		if _, _, err := execute(exportCommand(), args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("export %v: %v, want %s", args, err, want)
		}
	}
}

func TestPack(t *testing.T) {
	dir := t.TempDir()
	data, file, again := filepath.Join(dir, "data"), filepath.Join(dir, "x.pack"), filepath.Join(dir, "again")
	s, err := folder.Open(data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	chain := xrpltest.Chain(1, 5, 20, 2)
	if err := errors.Join(s.Append(chain, store.Progress{From: 5, To: 24}), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, says, err := execute(packCommand(), "--data", data, "-o", file, "--from", "7"); err != nil || !strings.Contains(says, "packed 18 ledgers (7-24); ledger 24 is "+chain[19].Hash.String()) {
		t.Fatal(says, err)
	}
	out, _, err := execute(unpackCommand(), file, "--data", again, "--anchor", "24:"+chain[19].Hash.String())
	if err != nil || !strings.Contains(out, "unpacked 18 ledgers (7-24), 36 transactions") || !strings.Contains(out, "on the word of the anchor that you gave") {
		t.Fatal(out, err)
	}
	if out, _, err = execute(packCommand(), "--data", data, "-o", "-"); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out, pack.Magic) {
		t.Fatalf("%.20q", out)
	}
	for want, args := range map[string][]string{
		"is there already":            {"--data", data, "-o", file},
		"says where the pack goes":    {"--data", data},
		"are not stored":              {"--data", data, "-o", "-", "--to", "30"},
		"holds no data of ledgersync": {"--data", filepath.Join(dir, "none"), "-o", "-"},
	} {
		if _, _, err := execute(packCommand(), args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("pack %v: %v, want %s", args, err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "junk"), []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"no pack of ledgers":  {filepath.Join(dir, "junk"), "--data", again},
		"wants one FILE":      {"--data", again},
		"L2 or at L4":         {file, "--data", again, "--level", "L1"},
		"INDEX:HASH":          {file, "--data", again, "--anchor", "x"},
		"no such file":        {filepath.Join(dir, "none"), "--data", again},
		"is a folder; name a": {dir, "--data", again},
		"packs are made by":   {filepath.Join(dir, "junk"), "--data", again},
	} {
		if _, _, err := execute(unpackCommand(), args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("unpack %v: %v, want %s", args, err, want)
		}
	}
	if _, _, err := execute(verifyCommand(), file); err == nil || err.Error() != file+" is a pack; ledgersync unpack proves it" {
		t.Errorf("verify: %v", err)
	}
}

// Ctrl-C leaves neither half a pack nor a locked folder.
func TestPackIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "x.pack")
	s, err := folder.Open(data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Append(xrpltest.Chain(1, 5, 20, 2), store.Progress{From: 5, To: 24}), s.Close()); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	cmd := packCommand()
	cmd.SetContext(over)
	if _, _, err := execute(cmd, "--data", data, "-o", file); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
	if _, _, err := execute(packCommand(), "--data", data, "-o", file); err != nil {
		t.Error(err)
	}
	cmd = unpackCommand()
	cmd.SetContext(over)
	if _, _, err := execute(cmd, file, "--data", filepath.Join(dir, "again")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
