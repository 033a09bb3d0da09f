package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dyno/parts/process"
	"dyno/parts/process/processtest"
	"dyno/parts/servicetest"
	"dyno/services/chain/chaintest"
)

// On a disk that is full a node refuses and says so, answers what it has, cannot be started and
// says so; and with room again all that it accepted is mined.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=100m"); err != nil {
		t.Skipf("mounting a small disk: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	}()
	program, err := exec.LookPath("chaind") // this test's binary: see TestMain
	if err != nil {
		t.Fatal(err)
	}
	command := []string{program, "serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--data=" + filepath.Join(disk, "data"), "--lame-duck=0s", "--log-level=error"}
	start := func() *process.Process {
		p, err := process.Start(context.WithoutCancel(t.Context()), process.Spec{Command: command, ReadyLine: true, ReadyTimeout: servicetest.Patience})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	call := func(p *process.Process, method, param string) (result, refused string) {
		t.Helper()
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":[` + param + `]}`
		_, text, err := servicetest.Exchange(http.DefaultClient, http.MethodPost, "http://"+p.Ready()["listen"], body, http.Header{"Content-Type": {"application/json"}})
		var a chaintest.Answer
		if err == nil {
			err = json.Unmarshal(text, &a)
		}
		if err != nil {
			t.Fatalf("%s: %s, %v", method, text, err)
		}
		if a.Error != nil {
			return "", a.Error.Message
		}
		return string(a.Result), ""
	}
	p := start()
	from := &chaintest.Account{Key: chaintest.DevelopmentKeys()[0]}
	var accepted []string
	send := func() (refused string) {
		t.Helper()
		tx := from.At(from.Nonce, from.Address(), 1)
		_, refused = call(p, "eth_sendRawTransaction", `"`+chaintest.Raw(tx)+`"`)
		if refused == "" {
			from.Nonce++
			accepted = append(accepted, tx.Hash().Hex())
		}
		return refused
	}
	for range 20 {
		if refused := send(); refused != "" {
			t.Fatal(refused)
		}
	}
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 200<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	servicetest.Await(t, func() string { return "a refusal" }, func() bool {
		refused := send()
		if refused != "" && !strings.Contains(refused, "the node's disk is full: the transaction was not accepted") {
			t.Fatal(refused)
		}
		return refused != ""
	})
	if got, refused := call(p, "eth_chainId", ""); got != `"0x539"` {
		t.Error(got, refused)
	}
	p.Kill()
	var said bytes.Buffer
	again := exec.CommandContext(t.Context(), command[0], command[1:]...)
	again.Stderr = &said
	if err := again.Run(); err == nil || !strings.Contains(said.String(), "the disk of the data folder has 0 MiB left") || strings.Contains(said.String(), "goroutine") {
		t.Errorf("a start without room: %v, %s", err, said.String())
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	p = start()
	if refused := send(); refused != "" {
		t.Error(refused)
	}
	for _, hash := range accepted {
		servicetest.Await(t, func() string { return "the receipt of " + hash }, func() bool {
			got, _ := call(p, "eth_getTransactionReceipt", `"`+hash+`"`)
			return got != "null"
		})
	}
	processtest.Stop(t, p)
	http.DefaultClient.CloseIdleConnections()
}
