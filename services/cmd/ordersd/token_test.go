package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/parts/assembly"
	"dyno/services/orders/auth"

	"github.com/spf13/cobra"
)

func run(t *testing.T, cmd *cobra.Command, args ...string) (stdout string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true // as under the daemon's command
	err = cmd.Execute()
	if errs.Len() > 0 {
		t.Errorf("stderr has %q", errs.String())
	}
	return out.String(), err
}

// config is a verifier's with the defaults of ordersd.
func config(file, cache, audience, issuer string) auth.Config {
	c := assembly.Defaults[auth.Config]()
	c.File, c.Cache, c.Audience, c.Issuer, c.Log = file, cache, audience, issuer, slog.New(slog.DiscardHandler)
	return c
}

func TestTokenCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, err := run(t, tokenCommand(), "--sub", "A1", "--data", dir, "--audience", "orders", "--issuer", "me", "--ttl", "1m")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, auth.KeysFile)
	v, err := auth.Open(config(file, "none", "orders", "me"))
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	second, err := run(t, tokenCommand(), "--sub", "A2", "--jwt-keys", file, "--audience", "orders", "--issuer", "me")
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]string{first: "A1", second: "A2"} {
		if account, err := v.Verify("Bearer "+strings.TrimSuffix(token, "\n"), time.Now()); account != want || err != nil {
			t.Errorf("%q: %q, %v", token, account, err)
		}
	}
	if _, err := v.Verify("Bearer "+strings.TrimSpace(first), time.Now().Add(time.Minute)); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("after its time: %v", err)
	}
	for _, args := range [][]string{{}, {"--sub", ""}, {"--sub", "a b"}, {"--sub", "A1", "--ttl", "0s"}, {"--sub", "A1", "--ttl", "100000h"}, {"--sub", "A1", "A2"},
		{"--sub", "A1", "--kid", "x", "--data", dir}, {"--sub", "A1", "--jwt-keys", file + "x"}, {"--sub", "A1", "--jwt-keys", file, "--data", dir}} {
		if out, err := run(t, tokenCommand(), args...); err == nil || out != "" {
			t.Errorf("%q: %v, printed %q", args, err, out)
		}
	}
	if _, err := os.Stat(file + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that was named by mistake was made: %v", err)
	}
}

func TestFeedCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jwks.json")
	args := []string{"--rows", "50", "--accounts", "7", "--count", "400", "--jwt-keys", file}
	text, err := run(t, feedCommand(), args...)
	if err != nil {
		t.Fatal(err)
	}
	v, err := auth.Open(config(file, "digest", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != 401 || lines[0] != "uid,account,token" {
		t.Fatalf("%d lines, the first %q", len(lines), lines[0])
	}
	drawn := map[int]bool{}
	for _, line := range lines[1:] {
		words := strings.Split(line, ",")
		var uid int
		fmt.Sscan(words[0], &uid)
		account, err := v.Verify("Bearer "+words[2], time.Now().Add(23*time.Hour))
		if err != nil || account != words[1] || account != fmt.Sprintf("A%d", 1+(uid-1)%7) || uid < 1 || uid > 50 {
			t.Fatalf("%q: %q, %v", line, account, err)
		}
		drawn[uid] = true
	}
	if len(drawn) < 45 {
		t.Errorf("%d of 50 uids were drawn", len(drawn))
	}
	uids := func(more ...string) string {
		text, err := run(t, feedCommand(), append(more, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for line := range strings.Lines(text) {
			uid, _, _ := strings.Cut(line, ",")
			b.WriteString(uid + " ")
		}
		return b.String()
	}
	if first, again := uids(), uids(); first != again || first == uids("--seed", "2") {
		t.Error("the seed does not decide what is drawn")
	}
	if n := strings.Count(uids("--zipf", "1.5"), " 1 "); n < 80 {
		t.Errorf("the first uid was drawn %d times of 400 by Zipf's law", n)
	}
}

func TestFeedCommandNDJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jwks.json")
	text, err := run(t, feedCommand(), "--rows", "1", "--count", "3", "--format", "ndjson", "--jwt-keys", file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	for range 3 {
		var row struct {
			UID            int
			Account, Token string
		}
		if err := decoder.Decode(&row); err != nil || row.UID != 1 || row.Account != "A1" || strings.Count(row.Token, ".") != 2 {
			t.Errorf("%+v, %v", row, err)
		}
	}
	if decoder.More() {
		t.Error("more than 3 lines")
	}
}

func TestFeedCommandRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jwks.json")
	for _, args := range []string{"", "--rows 0", "--rows 5 --accounts 0", "--rows 5 --count 0", "--rows 5 --count 1000001", "--rows 5 --zipf 1",
		"--rows 5 --zipf -2", "--rows 5 --zipf NaN", "--rows 5 --zipf +Inf", "--rows 5 --format xml", "--rows 5 --ttl -1s", "--rows 5 more"} {
		if out, err := run(t, feedCommand(), append(strings.Fields(args), "--jwt-keys", file)...); err == nil || out != "" {
			t.Errorf("%s: %v, printed %q", args, err, out)
		}
	}
	if out, err := run(t, feedCommand(), "--rows", "5"); err == nil || out != "" {
		t.Errorf("without a file: %v, printed %q", err, out)
	}
}

// The command ends when the reader of its stdout has closed the pipe.
func TestFeedCommandWithoutStdout(t *testing.T) {
	cmd := feedCommand()
	cmd.SetOut(broken{})
	cmd.SetArgs([]string{"--rows", "5", "--jwt-keys", filepath.Join(t.TempDir(), "jwks.json")})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.Execute(); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
}

var errBroken = errors.New("broken pipe")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }
