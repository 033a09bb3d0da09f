package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"dyno/parts/daemon"
	"dyno/parts/servicetest"
	"dyno/services/chain"
)

// The third node leads the two that the command runs, whichever node has led before.
func TestNodes(t *testing.T) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	defer func() { cancel(); running.Wait() }()
	begin := func(run func(stdout io.Writer) error, ready any) {
		out, in := io.Pipe()
		running.Go(func() {
			if err := run(in); err != nil {
				t.Error(err)
			}
			in.Close()
		})
		r := bufio.NewReader(out)
		line, err := r.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, ready)
		}
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() { io.Copy(io.Discard, r) })
	}
	dir := t.TempDir()
	var others third
	begin(func(stdout io.Writer) error {
		return runNodes(ctx, filepath.Join(dir, "others"), []string{"--log-level=error"}, stdout, os.Stderr)
	}, &others)
	var own struct{ Debug string }
	begin(func(stdout io.Writer) error {
		args := []string{"serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--lame-duck=0s", "--log-level=error", "--consensus=raft", "--data=" + filepath.Join(dir, "own"),
			"--node-key=" + others.Key, "--peer-listen=" + others.Address, "--peer=" + others.First, "--peer=" + others.Second}
		if code := daemon.Run(ctx, chain.Service(), args, os.LookupEnv, stdout, os.Stderr); code != 0 {
			return fmt.Errorf("serve: exit code %d", code)
		}
		return nil
	}, &own)
	m := member{debug: own.Debug}
	var now struct {
		Leads bool
		Peers []struct{ Connected bool }
	}
	servicetest.Await(t, func() string { return fmt.Sprintf("%+v", now) }, func() bool {
		answer, err := http.Get("http://" + others.Debug + "/readyz")
		if err != nil || answer.Body.Close() != nil || answer.StatusCode != http.StatusOK {
			return false
		}
		return m.ask(ctx, "/debug/chain/peers", &now) == nil && now.Leads && len(now.Peers) == 2 && now.Peers[0].Connected && now.Peers[1].Connected
	})
}

// A node's folder is not used twice: its votes would be another's.
func TestNodesNeedNewFolder(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := invent(dir); err != nil {
		t.Fatal(err)
	}
	if _, _, err := invent(dir); err == nil {
		t.Error("keys were overwritten")
	}
}
