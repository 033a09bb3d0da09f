package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/consensus"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/parts/assembly"
	"dyno/parts/quicktest"
	"dyno/services/chain/chaintest"
	"dyno/services/chain/genesis"
)

// After kill -9 at random moments, all that was acknowledged is mined without being sent again, no
// receipt has changed, the check finds nothing, and go-ethereum executes the exported chain to the
// same head.
func TestKilled(t *testing.T) {
	chaintest.Alone(t, starter(t, assembly.Variant{Assembly: assembly.Tuned}), map[string]chaintest.Case{"killed": func(c *chaintest.Client) {
		k := &killed{c: c, seen: map[common.Hash]chaintest.Receipt{}}
		c.Run()
		k.to = c.NewAccount(0).Address()
		for range 6 {
			k.accounts = append(k.accounts, c.NewAccount(10))
		}
		for range quicktest.Of(4, 20) {
			k.round()
		}
		c.Stop()
		k.provesItself()
		k.namesDamage()
	}})
}

// killed is a node that is killed while several senders send.
type killed struct {
	c        *chaintest.Client
	to       common.Address
	accounts []*chaintest.Account
	seen     map[common.Hash]chaintest.Receipt
}

// round kills the node after a random number of acknowledgements, and checks what the next one has.
func (k *killed) round() {
	var mu sync.Mutex
	var acknowledged []common.Hash
	enough, reached := 1+rand.IntN(400), make(chan struct{})
	note := func(hashes []common.Hash) {
		mu.Lock()
		defer mu.Unlock()
		before := len(acknowledged)
		acknowledged = append(acknowledged, hashes...)
		if before < enough && len(acknowledged) >= enough {
			close(reached)
		}
	}
	var senders sync.WaitGroup
	for i, from := range k.accounts {
		senders.Go(func() {
			send := []func([]*types.Transaction) ([]common.Hash, error){k.alone, k.array, k.raw}[i%3]
			for {
				var txs []*types.Transaction
				for range 1 + i*4 {
					txs = append(txs, from.Send(k.to, 1))
				}
				hashes, err := send(txs)
				note(hashes)
				if err != nil {
					return // killed
				}
			}
		})
	}
	<-reached
	k.c.Kill()
	senders.Wait()
	k.c.Run()
	for _, hash := range acknowledged {
		k.seen[hash] = *k.c.Receipt(hash)
	}
	for hash, was := range k.seen {
		if is := k.c.TryReceipt(hash); is == nil || fmt.Sprintf("%+v", *is) != fmt.Sprintf("%+v", was) && is.BlockHash != was.BlockHash {
			k.c.T.Fatalf("the receipt was %+v, is %+v", was, is)
		}
	}
	for _, from := range k.accounts {
		from.Nonce = k.c.Nonce(from.Address(), "pending") // some were accepted, and the answer was lost
	}
}

// alone sends transactions one after the other, in calls of their own.
func (k *killed) alone(txs []*types.Transaction) (hashes []common.Hash, err error) {
	for _, tx := range txs {
		var hash common.Hash
		if err := k.c.Try(&hash, "eth_sendRawTransaction", chaintest.Raw(tx)); err != nil {
			return hashes, err
		}
		hashes = append(hashes, hash)
	}
	return hashes, nil
}

// array sends transactions in an array of calls.
func (k *killed) array(txs []*types.Transaction) (hashes []common.Hash, err error) {
	var calls []chaintest.Request
	for i, tx := range txs {
		calls = append(calls, chaintest.Call(i, "eth_sendRawTransaction", chaintest.Raw(tx)))
	}
	text, err := json.Marshal(calls)
	if err != nil {
		return nil, err
	}
	r, err := k.c.TryPost(string(text), nil)
	if err != nil {
		return nil, err
	}
	var answers []chaintest.Answer
	if err := json.Unmarshal(r.Body, &answers); err != nil {
		return nil, err
	}
	for _, a := range answers {
		var hash common.Hash
		if err := a.Into(&hash); err != nil {
			return hashes, err
		}
		hashes = append(hashes, hash)
	}
	return hashes, nil
}

// raw sends transactions to /submit.
func (k *killed) raw(txs []*types.Transaction) ([]common.Hash, error) {
	var body []byte
	for _, tx := range txs {
		body = append(body, hexutil.MustDecode(chaintest.Raw(tx))...)
	}
	resp, err := http.Post(k.c.Program.URL+"/submit", "application/octet-stream", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		Accepted []common.Hash
		Refused  []json.RawMessage
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if len(answer.Refused) > 0 {
		err = fmt.Errorf("refused: %s", answer.Refused)
	}
	return answer.Accepted, err
}

// provesItself runs the check and the export of the stopped node's folder, and go-ethereum.
func (k *killed) provesItself() {
	t := k.c.T
	program, err := exec.LookPath("chaind")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "check", "--data", k.c.Env.Data, "--json").Output()
	var r struct {
		OK           bool
		Transactions int
		StateRoot    common.Hash `json:"state_root"`
		Recomputed   common.Hash `json:"recomputed_root"`
	}
	if err != nil || json.Unmarshal(out, &r) != nil || !r.OK || r.Transactions < len(k.seen) || r.StateRoot != r.Recomputed {
		t.Fatalf("check: %s, %v", out, err)
	}
	file := filepath.Join(t.TempDir(), "blocks.rlp")
	if out, err := exec.Command(program, "export", "--data", k.c.Env.Data, file).CombinedOutput(); err != nil {
		t.Fatalf("export: %s, %v", out, err)
	}
	if root := executed(t, file); root != r.StateRoot {
		t.Fatalf("go-ethereum has the root %x, and the check %x", root, r.StateRoot)
	}
}

// namesDamage changes a bit of the stopped node's journal.
func (k *killed) namesDamage() {
	t := k.c.T
	program, err := exec.LookPath("chaind")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(k.c.Env.Data, "journal", "*.seg"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)*2/3] ^= 1
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"check"}, {"serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0"}} {
		out, err := exec.Command(program, append(command, "--data="+k.c.Env.Data)...).CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte(filepath.Base(files[0]))) || !bytes.Contains(out, []byte("damaged")) {
			t.Errorf("%s does not name the damage: %s, %v", command[0], out, err)
		}
	}
}

// executed has go-ethereum execute the blocks of a file, and returns the root of the last.
func executed(t testing.TB, path string) common.Hash {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	theirs, err := core.NewBlockChain(rawdb.NewMemoryDatabase(), genesis.Development().Genesis, patient{beacon.New(ethash.NewFaker())}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Stop()
	for stream := rlp.NewStream(file, 0); ; {
		block := new(types.Block)
		if err := stream.Decode(block); err == io.EOF {
			return theirs.CurrentBlock().Root
		} else if err != nil {
			t.Fatal(err)
		}
		if _, err := theirs.InsertChain(types.Blocks{block}); err != nil {
			t.Fatalf("go-ethereum refuses block %d: %v", block.Number(), err)
		}
		if theirs.CurrentBlock().Hash() != block.Hash() {
			t.Fatalf("go-ethereum has the head %d after block %d", theirs.CurrentBlock().Number, block.Number())
		}
	}
}

// patient is go-ethereum's engine, except that a block may have its parent's timestamp.
type patient struct{ *beacon.Beacon }

func (p patient) VerifyHeader(chain consensus.ChainHeaderReader, header *types.Header) error {
	parent, seen := chain.GetHeader(header.ParentHash, header.Number.Uint64()-1), types.CopyHeader(header)
	if parent != nil && parent.Time == header.Time {
		seen.Time++
	}
	return p.Beacon.VerifyHeader(chain, seen)
}

func (p patient) VerifyHeaders(chain consensus.ChainHeaderReader, headers []*types.Header) (chan<- struct{}, <-chan error) {
	results := make(chan error, len(headers))
	for _, header := range headers {
		results <- p.VerifyHeader(chain, header)
	}
	return make(chan struct{}), results
}
