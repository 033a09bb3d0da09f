package testchain_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// ending is the context of a client that waits for a number of looks at it.
type ending struct {
	context.Context
	looks *int
}

func (e ending) Err() error {
	if *e.looks--; *e.looks < 0 {
		return context.Canceled
	}
	return nil
}

// Blocks that a client does not wait for any more are not made, and those that were are taken back.
func TestMineCancelled(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	s.send(1)
	before := s.image()
	for method, params := range map[string]string{"hardhat_mine": `["0x64","0x1"]`, "anvil_mine": `["0x64","0x1"]`, "evm_mine": `[{"blocks":100}]`} {
		looks := 10
		if _, err := s.all[method](ending{t.Context(), &looks}, []byte(params)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want that the client has gone", method, err)
		}
		if after := s.image(); after != before {
			t.Errorf("%s: it was %swhich is now %s", method, before, after)
		}
	}
	s.call("anvil_mine", 2)
	s.blocks(3)
}

// States of blocks that were taken back are left behind; those that are read meanwhile are read on, and those
// that stay are the same, also when the chain is opened again.
func TestStatesLeftBehind(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer func() { s.close() }()
	c := s.client()
	s.call("anvil_setCode", logging, loggingCode)
	s.want("true", "anvil_setStorageAt", to, "0x3", common.Hash{31: 9})
	s.send(1)
	s.want(`"0x0"`, "evm_snapshot")
	s.send(2)
	s.want("null", "anvil_setBalance", to, "0x64")
	s.want(`"0x1"`, "evm_snapshot")
	s.call("hardhat_mine", 2000)
	s.send(5)
	s.balance(105)
	reader, err := s.StateAt(s.Head())
	if err != nil {
		t.Fatal(err)
	}
	all := s.Tries()
	s.want("true", "evm_revert", "0x1")
	if left := s.Tries(); all == 0 || left > all/100 {
		t.Errorf("the tries have %v bytes of %v after blocks were taken back", left, all)
	}
	if got := reader.GetBalance(to); got.Uint64() != 105 || reader.Error() != nil {
		t.Errorf("a state that is read has %v, %v", got, reader.Error())
	}
	check := func() {
		t.Helper()
		s.balance(100)
		if got := c.ask("eth_getBalance", `["`+to.Hex()+`","0x1"]`); got != `"0x1"` {
			t.Errorf("after the first block the balance is %s", got)
		}
		if got := c.ask("eth_getStorageAt", `["`+to.Hex()+`","0x3","latest"]`); !strings.HasSuffix(got, `09"`) {
			t.Errorf("the slot is %s", got)
		}
		if got := c.ask("eth_getCode", `["`+logging.Hex()+`","latest"]`); got != `"`+loggingCode+`"` {
			t.Errorf("the code is %s", got)
		}
	}
	check()
	var dump string
	if err := json.Unmarshal([]byte(s.call("anvil_dumpState")), &dump); err != nil || len(dump) < 100 {
		t.Errorf("the dump is %s, %v", dump, err)
	}
	before := s.image()
	s.close()
	s = open(t, dir)
	c = s.client()
	if after := s.image(); after != before {
		t.Errorf("it was %swhich is now %s", before, after)
	}
	check()
	s.send(1)
	s.want("true", "evm_revert", "0x0")
	s.balance(1)
}
