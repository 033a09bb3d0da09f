package peers

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

func TestMessages(t *testing.T) {
	for _, m := range []message{
		{form: heartbeat}, {form: note, kind: Raft, body: []byte("x")}, {form: request, kind: Blocks, id: 1 << 60, body: []byte{}},
		{form: answer, id: 7, body: []byte("blocks")}, {form: refusal, id: 7, body: []byte("no")},
	} {
		got, err := parse(m.append(nil))
		if err != nil || got.form != m.form || got.kind != m.kind || got.id != m.id || !bytes.Equal(got.body, m.body) {
			t.Errorf("%+v came as %+v, %v", m, got, err)
		}
	}
	for _, b := range []string{"", "\x00x", "\x02", "\x03", "\x03\x01abcdefg", "\x04abcdefg", "\x06", "\xff"} {
		if m, err := parse([]byte(b)); !errors.Is(err, errMalformed) {
			t.Errorf("%q is read as %+v, %v", b, m, err)
		}
	}
}

func TestGreetings(t *testing.T) {
	mine := greeting{version, 1337, common.Hash{1}}
	for _, tt := range []struct {
		first []byte
		says  string // "": it fits
	}{
		{mine.bytes(), ""},
		{greeting{version + 1, 1337, common.Hash{1}}.bytes(), "version 2"},
		{greeting{version, 1, common.Hash{1}}.bytes(), "the id 1,"},
		{greeting{version, 1337, common.Hash{2}}.bytes(), "the genesis block 02"},
		{append(mine.bytes(), 0), "malformed"},
		{mine.bytes()[:9], "malformed"},
		{message{form: note, kind: Raft}.append(nil), "the first one is no greeting"},
		{nil, "empty"},
	} {
		err := mine.check(tt.first)
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%x: %v, want %q", tt.first, err, tt.says)
		}
	}
}

func FuzzMessage(f *testing.F) {
	f.Add(greeting{version, 1337, common.Hash{1}}.bytes())
	f.Add(message{form: request, kind: Blocks, id: 3, body: []byte("b")}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = greeting{Version: version}.check(b)
		m, err := parse(b)
		if err == nil && !bytes.Equal(m.append(nil), b) {
			t.Errorf("%x is read as %+v", b, m)
		}
	})
}

func FuzzItems(f *testing.F) {
	f.Add(AppendItems(nil, []byte("a"), nil, bytes.Repeat([]byte("b"), 200)))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		items, err := Items(b, 100)
		if err != nil {
			return
		}
		again, err := Items(AppendItems(nil, items...), 100)
		if err != nil || len(again) != len(items) {
			t.Fatalf("%x: %d items, then %d, %v", b, len(items), len(again), err)
		}
		for i := range items {
			if !bytes.Equal(items[i], again[i]) {
				t.Errorf("item %d is %x, then %x", i, items[i], again[i])
			}
		}
	})
}
