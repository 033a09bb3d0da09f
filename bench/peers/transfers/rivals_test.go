package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pretend is a rival: its preparation makes a file, without which it does not serve. anvil has none.
func pretend(name string, args []string) {
	after := func(flag string) string { return args[slices.Index(args, flag)+1] }
	home, listen := "--datadir", ""
	switch name {
	case "cometbft":
		home = "--home"
	case "anvil":
		if args[0] != "--version" {
			pretended(name, net.JoinHostPort(after("--host"), after("--port")))
		}
		return
	}
	prepared := filepath.Join(after(home), "prepared")
	if args[0] == "init" {
		os.WriteFile(prepared, nil, 0o600)
		return
	}
	if _, err := os.Stat(prepared); err != nil {
		os.Exit(3)
	}
	if name == "cometbft" {
		listen = strings.TrimPrefix(after("--rpc.laddr"), "tcp://")
		if os.Getenv("CMT_CONSENSUS_TIMEOUT_COMMIT") != "0s" {
			os.Exit(4)
		}
	} else {
		listen = net.JoinHostPort(after("--http.addr"), after("--http.port"))
	}
	pretended(name, listen)
}

func pretended(name, listen string) {
	err := http.ListenAndServe(listen, &node{seen: map[string]bool{}, blocks: make(chan int, 64), comet: name == "cometbft"})
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// A rival is prepared, started, sent what it understands, and has ended afterwards.
func TestRivals(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := rows(t, 100_000, `{"raw":"`+transfer+`"}`)
	for _, name := range []string{"geth", "anvil", "cometbft"} {
		t.Setenv("TRANSFERS_RIVAL", name)
		for _, array := range []int{1, 10} {
			totals, err := drive(t, options{rows: path, work: "commits", array: array, connections: 2,
				rival: rival{name: name, program: self, genesis: "genesis.json", data: t.TempDir()}})
			if err != nil || totals.Ended == 0 {
				t.Errorf("%s, %d in an array: %v: %+v", name, array, err, totals)
			}
		}
	}
}

func TestRivalIsRefused(t *testing.T) {
	file := rows(t, 100, `{"raw":"`+transfer+`"}`)
	for want, r := range map[string]rival{
		"--program": {name: "geth"}, "--genesis": {name: "geth", program: "geth", data: "data"},
		"make rivals": {name: "cometbft", program: "./missing", data: "data"}, "there are geth": {name: "besu", program: "besu", data: "data"},
	} {
		err := options{rows: file, work: "commits", array: 1, connections: 1, rival: r}.run(t.Context(), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// A pair is as long as its transfer, and has one sign between key and value.
func TestPair(t *testing.T) {
	text, err := base64.StdEncoding.DecodeString(pair(strings.TrimPrefix(transfer, "0x")))
	key, value, ok := strings.Cut(string(text), "=")
	if err != nil || !ok || len(key) != keyLength || strings.ContainsAny(key+value, "=:") || len(text) != len(transfer)/2-1 {
		t.Errorf("%q, %v", text, err)
	}
	if pair("00") != "" {
		t.Error("a transfer of one byte has a pair")
	}
	if got := socketOf("http://a:1/", cometbft); got != "ws://a:1/websocket" {
		t.Error(got)
	}
}
