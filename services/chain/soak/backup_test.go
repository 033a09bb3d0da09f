package soak

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"dyno/parts/quicktest"
	"dyno/parts/servicetest"
	"dyno/services/chain/chaintest"
)

// A backup that is taken under load has all that was acknowledged before it, and starts on any
// machine. A node that is killed while one is taken starts again, and has lost nothing.
func TestBackup(t *testing.T) {
	p := subject(t)
	chaintest.Alone(t, p.start, map[string]chaintest.Case{"backups": func(c *chaintest.Client) {
		k := &killed{c: c, random: rand.New(rand.NewPCG(rand.Uint64(), 0)), receipts: map[common.Hash]string{}}
		c.Run()
		k.to = c.NewAccount(0).Address()
		k.accounts = []*chaintest.Account{c.NewAccount(100)}
		for range max(*kills/10, quicktest.Of(3, 6)) {
			k.backups(p)
		}
		c.Kill()
		k.provesItself(p)
	}})
}

// backups takes backups under load until the node is killed, restores the last that is whole, and
// starts the node again.
func (k *killed) backups(p Program) {
	t := k.c.T
	a := &acknowledged{enough: 1, reached: make(chan struct{}), seen: map[common.Hash]string{}}
	var clients sync.WaitGroup
	clients.Go(func() { k.send(k.accounts[0], 1, k.alone, a) })
	<-a.reached
	var whole string
	var before []common.Hash
	stopped := time.Now().Add(time.Duration(k.random.Int64N(int64(300 * time.Millisecond)))) // it is killed at a random moment of a backup
	for whole == "" || time.Now().Before(stopped) {
		a.mu.Lock()
		known := slices.Clone(a.hashes)
		a.mu.Unlock()
		dir := t.TempDir()
		if err := backup(k.c.Program.Debug, dir); err != nil {
			t.Fatal(err)
		}
		whole, before = dir, known
	}
	broken := t.TempDir()
	clients.Go(func() { _ = backup(k.c.Program.Debug, broken) }) // the kill may break it off
	<-time.After(time.Duration(k.random.Int64N(int64(20 * time.Millisecond))))
	k.c.Kill()
	clients.Wait()
	k.Kills++
	k.c.Run()
	k.mined(a)
	if left, err := filepath.Glob(filepath.Join(k.c.Env.Data, "backup")); err != nil || len(left) > 0 {
		t.Errorf("the killed backup left %v (%v)", left, err)
	}
	restored := *k.c
	restored.Program = p.start(t, chaintest.Env{Data: whole})
	defer restored.Program.Kill()
	var late []common.Hash
	servicetest.Await(t, func() string { return fmt.Sprintf("receipts of the restored node: %v", late) }, func() bool {
		late = nil
		for _, hash := range before {
			if restored.TryReceipt(hash) == nil {
				late = append(late, hash)
			}
		}
		return len(late) == 0
	})
	t.Logf("a backup with %d transactions, %d acknowledged in all", len(before), len(k.order))
}

// backup unpacks a backup into a folder.
func backup(debug, dir string) error {
	r, err := http.Get(debug + "/debug/chain/backup")
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		text, err := io.ReadAll(r.Body)
		return errors.Join(fmt.Errorf("%s: %s", r.Status, text), err)
	}
	for in := tar.NewReader(r.Body); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, r.Body) // the end of the answer is the end of the backup
			return err
		}
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			if err := os.Mkdir(path, 0o750); err != nil {
				return err
			}
			continue
		}
		text, err := io.ReadAll(in)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			return err
		}
	}
}
