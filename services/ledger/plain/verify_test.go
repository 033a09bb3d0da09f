package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyno/services/ledger/xrpl"
)

// made is a ledger with transactions of all sizes, whose header is right.
func made(index uint32, transactions int) ledger {
	var l ledger
	for i := range transactions {
		l.transactions = append(l.transactions, transaction{bytes.Repeat([]byte{byte(i), 1}, 60+i*100), bytes.Repeat([]byte{byte(i), 2}, 100+i*400)})
	}
	l.header = bytes.Repeat([]byte{7}, headerSize)
	copy(l.header, []byte{0, 0, byte(index >> 8), byte(index)})
	var leaves []leaf
	for _, t := range l.transactions {
		id := sum("TXN\x00", t.blob)
		leaves = append(leaves, leaf{id, sum("SND\x00", vl(len(t.blob)), t.blob, vl(len(t.meta)), t.meta, id[:])})
	}
	root := treeHash(leaves, 0)
	copy(l.header[44:], root[:])
	return l
}

// The two ways to hash a ledger in this repository agree.
func TestAgreesWithXRPL(t *testing.T) {
	for _, n := range []int{0, 1, 2, 17, 90} {
		agree(t, made(300, n))
	}
}

func agree(t *testing.T, l ledger) {
	t.Helper()
	at, err := verify(l)
	if err != nil {
		t.Fatal(err)
	}
	theirs := xrpl.Ledger{Index: at.index, Header: l.header}
	for _, tx := range l.transactions {
		theirs.Transactions = append(theirs.Transactions, xrpl.Transaction{Blob: tx.blob, Meta: tx.meta})
	}
	header, err := xrpl.NewVerifier().Ledger(&theirs)
	if err != nil || header.Hash() != xrpl.Hash(at.hash) || header.Parent != xrpl.Hash(at.parent) {
		t.Fatalf("ledger %d: hash %s, parent %s here; %s, %s, %v in services/ledger/xrpl", at.index, at.hash, at.parent, header.Hash(), header.Parent, err)
	}
}

// Real history verifies, and is printed as it was read.
func TestRealLedgers(t *testing.T) {
	f, err := os.Open(filepath.FromSlash("../../../../shared/data/xrpl/ledgers-binary.jsonl"))
	if err != nil {
		t.Skip("the real ledgers are not here: ", err)
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for n := 0; ; n++ {
		line, _ := lines.ReadBytes('\n')
		if len(line) == 0 {
			if n == 0 {
				t.Fatal("no ledgers")
			}
			return
		}
		l, err := decode(line)
		if err != nil {
			t.Fatal(err)
		}
		at, err := verify(l)
		var answer struct {
			Result struct {
				Hash  string `json:"ledger_hash"`
				Index uint32 `json:"ledger_index"`
			}
		}
		json.Unmarshal(line, &answer)
		if err != nil || !strings.EqualFold(at.hash.String(), answer.Result.Hash) || at.index != answer.Result.Index {
			t.Fatalf("line %d: %v, %+v", n+1, err, at)
		}
		agree(t, l)
		again, err := encode(l, at.index)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := decode(again); err != nil || !bytes.Equal(pack(same), pack(l)) {
			t.Fatalf("line %d is printed otherwise: %v", n+1, err)
		}
	}
}

// Every bit of a ledger counts.
func TestEveryBitCounts(t *testing.T) {
	l := made(5, 3)
	want, err := verify(l)
	if err != nil {
		t.Fatal(err)
	}
	parts := [][]byte{l.header}
	for _, tx := range l.transactions {
		parts = append(parts, tx.blob, tx.meta)
	}
	for _, b := range parts {
		for bit := range 8 * len(b) {
			b[bit/8] ^= 1 << (bit % 8)
			if at, err := verify(l); err == nil && at.hash == want.hash {
				t.Fatalf("bit %d is not noticed", bit)
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                                   "no JSON",
		`[]`:                                 "no JSON",
		`{}`:                                 "no result",
		`{"result":[]}`:                      "no result",
		`{"result":{}}`:                      "not of a validated ledger",
		`{"result":{"error":"lgrNotFound"}}`: "lgrNotFound",
		`{"result":{"error":"slowDown","error_message":"You are too fast"}}`:                            "slowDown: You are too fast",
		`{"result":{"validated":true}}`:                                                                 "no ledger",
		`{"result":{"validated":true,"ledger":{}}}`:                                                     "no text called ledger_data",
		`{"result":{"validated":true,"ledger":{"ledger_data":"0"}}}`:                                    "odd length",
		`{"result":{"validated":true,"ledger":{"ledger_data":"00","transactions":{}}}}`:                 "no list",
		`{"result":{"validated":true,"ledger":{"ledger_data":"00","transactions":["AB"]}}}`:             "no object",
		`{"result":{"validated":true,"ledger":{"ledger_data":"00","transactions":[{"tx_blob":"00"}]}}}`: "called meta",
	} {
		if _, err := decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// No answer makes the program panic, and what is read is printed as it was.
func FuzzDecode(f *testing.F) {
	l := made(5, 2)
	line, err := encode(l, 5)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte(`{"result":{"validated":true,"ledger":{"ledger_data":"00","transactions":[{"tx_blob":"","meta_blob":"01"}]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := decode(data)
		if err != nil {
			return
		}
		verify(l)
		line, err := encode(l, 1)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := decode(line); err != nil || !bytes.Equal(pack(again), pack(l)) {
			t.Fatal(err)
		}
	})
}

// What is stored is read as it was written; anything else is an error.
func FuzzUnpack(f *testing.F) {
	f.Add(pack(made(5, 2)))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := unpack(data)
		if err == nil && !bytes.Equal(pack(l), data) {
			t.Fatal("it is packed otherwise")
		}
	})
}
