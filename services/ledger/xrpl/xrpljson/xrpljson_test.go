package xrpljson

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"strings"
	"testing"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

// Real transactions and metadata convert as in xrpl-py 5.2.0 (testdata/decoded.jsonl: bytes, and
// its result), except where rippled differs: 64-bit numbers without leading zeros, path steps with
// their type.
func TestDecode(t *testing.T) {
	name := "testdata/decoded.jsonl"
	if all := os.Getenv("XRPLJSON_DECODED"); all != "" {
		name = all
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	n := 0
	for ; lines.Scan(); n++ {
		var pair []json.RawMessage
		var text string
		var want any
		if err := json.Unmarshal(lines.Bytes(), &pair); err != nil {
			t.Fatal(err)
		}
		if json.Unmarshal(pair[0], &text) != nil || json.Unmarshal(pair[1], &want) != nil {
			t.Fatalf("line %d", n+1)
		}
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		object, err := Decode(b)
		if err != nil {
			t.Errorf("line %d: %v", n+1, err)
			continue
		}
		var got any
		written, _ := json.Marshal(object)
		if err := json.Unmarshal(written, &got); err != nil {
			t.Fatal(err)
		}
		if where := differs("", got, want); where != "" {
			t.Errorf("line %d: %s", n+1, where)
		}
	}
	if n == 0 {
		t.Error("nothing was compared")
	}
}

// differs returns where two values differ, "" if they are equal.
func differs(at string, got, want any) string {
	switch w := want.(type) {
	case map[string]any:
		delete(w, "type_hex")
		g, ok := got.(map[string]any)
		if strings.Contains(at, ".Paths[") {
			delete(g, "type")
		}
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s: %v, want %v", at, got, want)
		}
		for name, v := range w {
			if where := differs(at+"."+name, g[name], v); where != "" {
				return where
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s: %v, want %v", at, got, want)
		}
		for i, v := range w {
			if where := differs(fmt.Sprintf("%s[%d]", at, i), g[i], v); where != "" {
				return where
			}
		}
		return ""
	case string:
		g, ok := got.(string)
		if !ok {
			break
		}
		if strings.HasSuffix(at, ".value") { // an amount, which has two possible forms
			a, _, err := big.ParseFloat(g, 10, 80, big.ToNearestEven)
			b, _, err2 := big.ParseFloat(w, 10, 80, big.ToNearestEven)
			if err == nil && err2 == nil && a.Cmp(b) == 0 {
				return ""
			}
		}
		if strings.EqualFold(g, w) || len(w) == 16 && strings.EqualFold(g, strings.TrimLeft(w[:15], "0")+w[15:]) {
			return ""
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Sprintf("%s: %v, want %v", at, got, want)
	}
	return ""
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		mantissa int64
		exponent int
		want     string
	}{
		{0, -15, "0"}, {1_000_000_000_000_000, -15, "1"}, {1_500_000_000_000_000, -15, "1.5"}, {-1_000_000_000_000_000, -13, "-100"},
		{1_234_567_890_123_456, -20, "0.00001234567890123456"}, {1_000_000_000_000_000, -40, "1e-25"}, {9_999_999_999_999_999, 80, "9999999999999999e80"},
		{1_000_000_000_000_000, -16, "0.1"}, {12, 0, "12"}, {2_000_000_000_000_000, -4, "2e11"},
	} {
		if got := number(c.mantissa, c.exponent); got != c.want {
			t.Errorf("%d e%d: %s, want %s", c.mantissa, c.exponent, got, c.want)
		}
	}
}

// An unknown field also gets a name, and amounts of all kinds are converted.
func TestValues(t *testing.T) {
	b := xrpl.Fields(nil).UInt16(sfield.TransactionType, 9999).UInt16(sfield.Make(sfield.TypeUInt16, 99), 7).Drops(sfield.Amount, 5).Account(sfield.Account, xrpl.AccountID{})
	got, err := Decode(b)
	text, _ := json.Marshal(got)
	if want := `{"Account":"rrrrrrrrrrrrrrrrrrrrrhoLvTp","Amount":"5","Field1.99":7,"TransactionType":9999}`; string(text) != want || err != nil {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
	token := append([]byte{0x60, 0, 0, 0, 0, 0, 0, 0, 100}, make([]byte, mptSize)...)
	if text, _ := json.Marshal(amount(token)); string(text) != `{"mpt_issuance_id":"`+strings.Repeat("00", mptSize)+`","value":"100"}` {
		t.Errorf("%s", text)
	}
	if got := currency(append(make([]byte, 12), "USD\x00\x00\x00\x00\x00"...)); got != "USD" {
		t.Errorf("%s", got)
	}
}

// All bytes that Walk accepts can be converted.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(xrpl.Fields(nil).UInt16(sfield.TransactionType, 0).Open(sfield.Memos).Open(sfield.Memo).Blob(sfield.MemoData, []byte("m")).EndObject().EndArray()))
	f.Add([]byte{0x01, 0x12, 0x01, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if object, err := Decode(b); err == nil {
			if _, err := json.Marshal(object); err != nil {
				t.Error(err)
			}
		}
	})
}
