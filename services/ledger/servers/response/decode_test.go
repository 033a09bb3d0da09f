package response

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpltest"
)

var (
	header = strings.Repeat("0A", xrpl.HeaderSize)
	hash   = strings.Repeat("AB", 32)
	v1     = `{"tx_blob":"12","meta":"20"}`
	v2     = `{"hash":"` + hash + `","meta_blob":"20","tx_blob":"12"}`
)

// ofLedger is an answer with a ledger of these transactions.
func ofLedger(transactions string) string {
	return `{"result":{"ledger":{"closed":true,"ledger_data":"` + header + `","transactions":` + transactions + `},"ledger_hash":"` + hash +
		`","ledger_index":7,"status":"success","validated":true}}`
}

var answers = []struct {
	name, answer string
	kind         Code
	transactions int
	warned       bool
}{
	{"rippled over http", ofLedger("[" + v1 + "," + v1 + "]"), 0, 2, false},
	{"shape 2", ofLedger("[" + v2 + "]"), 0, 1, false},
	{"no transactions", ofLedger("[]"), 0, 0, false},
	{"null transactions", ofLedger("null"), 0, 0, false},
	{"without transactions", strings.Replace(ofLedger("[]"), `,"transactions":[]`, "", 1), 0, 0, false},
	{"over WebSocket", `{"id":3,"status":"success","type":"response",` + ofLedger("[" + v1 + "]")[1:], 0, 1, false},
	{"Clio", strings.TrimSuffix(ofLedger("["+v1+"]"), "}") + `,"warnings":[{"id":2001,"message":"This is a clio server."}]}`, 0, 1, false},
	{"warned at the top", strings.TrimSuffix(ofLedger("[]"), "}") + `,"warning":"load"}`, 0, 0, true},
	{"warned in the result", strings.Replace(ofLedger("[]"), `"ledger_index"`, `"warning":"load","ledger_index"`, 1), 0, 0, true},
	{"index as a string", strings.Replace(ofLedger("[]"), `:7,`, `:"7",`, 1), 0, 0, false},
	{"escaped", strings.Replace(ofLedger("["+v1+"]"), `"12"`, `"\u0031\u0032"`, 1), 0, 1, false},
	{"escaped key", strings.Replace(ofLedger("["+v1+"]"), `"tx_blob"`, `"tx\u005fblob"`, 1), 0, 1, false},
	{"twice", strings.Replace(ofLedger("["+v1+"]"), `"transactions"`, `"transactions":[5],"transactions"`, 1), 0, 1, false},
	{"spaces", strings.NewReplacer(":", " : ", ",", "\n,\t").Replace(ofLedger("[" + v1 + "]")), 0, 1, false},

	{"nothing", "", Empty, 0, false},
	{"space", " \n", Empty, 0, false},
	{"text", "Server is overloaded", Malformed, 0, false},
	{"a list", "[]", Malformed, 0, false},
	{"null", "null", Malformed, 0, false},
	{"more", ofLedger("[]") + "{}", Malformed, 0, false},
	{"cut", ofLedger("[" + v1 + "]")[:300], Malformed, 0, false},
	{"no result", `{}`, Empty, 0, false},
	{"no ledger", `{"result":{"status":"success"}}`, Empty, 0, false},
	{"a list for a ledger", `{"result":{"ledger":[]}}`, Malformed, 0, false},
	{"not in binary", `{"result":{"ledger":{},"validated":true}}`, Empty, 0, false},
	{"hashes only", ofLedger(`["` + hash + `"]`), Malformed, 0, false},
	{"odd hex", ofLedger(`[{"tx_blob":"123","meta":"20"}]`), Malformed, 0, false},
	{"no hex", ofLedger(`[{"tx_blob":"1G","meta":"20"}]`), Malformed, 0, false},
	{"no meta", ofLedger(`[{"tx_blob":"12"}]`), Malformed, 0, false},
	{"short header", strings.Replace(ofLedger("[]"), header, "0A", 1), Malformed, 0, false},
	{"bad hash", strings.Replace(ofLedger("[]"), hash, "0A", 1), Malformed, 0, false},
	{"large index", strings.Replace(ofLedger("[]"), ":7,", ":4294967296,", 1), Malformed, 0, false},
	{"not validated", strings.Replace(ofLedger("[]"), `"validated":true`, `"validated":false`, 1), NotValidated, 0, false},
	{"validated unsaid", strings.Replace(ofLedger("[]"), `,"validated":true`, ``, 1), NotValidated, 0, false},
	{"open", strings.Replace(ofLedger("[]"), `"closed":true`, `"closed":false`, 1), NotValidated, 0, false},

	{"HTTP 200 with an error", `{"result":{"error":"lgrNotFound","error_code":21,"error_message":"ledgerNotFound","status":"error"}}`, NotFound, 0, false},
	{"error over WebSocket", `{"error":"noNetwork","error_code":17,"id":2,"status":"error","type":"response"}`, NotSynced, 0, false},
	{"slowDown", `{"error":"slowDown","error_code":10,"error_message":"You are placing too much load on the server."}`, SlowDown, 0, false},
	{"by code", `{"result":{"error":"novel","error_code":9}}`, Busy, 0, false},
	{"error with a ledger", strings.Replace(ofLedger("[]"), `"status"`, `"error":"tooBusy","status"`, 1), Busy, 0, false},
	{"another error", `{"result":{"error":"unknownCmd","error_code":32}}`, Refused, 0, false},
	{"too deep", strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1), Malformed, 0, false},
}

func TestDecode(t *testing.T) {
	for name, d := range Decoders() {
		for _, tt := range answers {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				var a Answer
				err := d.Decode([]byte(tt.answer), &a)
				if CodeOf(err) != tt.kind || (err == nil) != (tt.kind == 0) {
					t.Fatalf("got %v, want %v", err, tt.kind)
				}
				if err != nil {
					return
				}
				if len(a.Transactions) != tt.transactions || a.Warned != tt.warned || a.Index != 7 || a.Hash.String() != hash || len(a.Header) != xrpl.HeaderSize {
					t.Errorf("got %+v", a)
				}
				for _, tx := range a.Transactions {
					if !bytes.Equal(tx.Blob, []byte{0x12}) || !bytes.Equal(tx.Meta, []byte{0x20}) {
						t.Errorf("got %x", tx)
					}
				}
			})
		}
	}
}

// agree decodes with both decoders, each into an answer that was used before.
func agree(t *testing.T, bytes []byte, a, b *Answer) {
	t.Helper()
	errA, errB := Decoders()["json"].Decode(bytes, a), Decoders()["scan"].Decode(bytes, b)
	if CodeOf(errA) != CodeOf(errB) || (errA == nil) != (errB == nil) {
		t.Fatalf("%.300q: json says %v, scan says %v", bytes, errA, errB)
	}
	if errA != nil {
		return
	}
	if a.Index != b.Index || a.Hash != b.Hash || a.Validated != b.Validated || a.Warned != b.Warned || a.Bytes != b.Bytes ||
		string(a.Header) != string(b.Header) || len(a.Transactions) != len(b.Transactions) {
		t.Fatalf("%.300q: json says %+v, scan says %+v", bytes, a, b)
	}
	for i := range a.Transactions {
		x, y := a.Transactions[i], b.Transactions[i]
		if string(x.Blob) != string(y.Blob) || string(x.Meta) != string(y.Meta) {
			t.Fatalf("%.300q: transaction %d: json says %x, scan says %x", bytes, i, x, y)
		}
	}
}

func TestDecodeReal(t *testing.T) {
	var a, b Answer
	v := xrpl.NewVerifier()
	for i, line := range xrpltest.Lines(t) {
		agree(t, line, &a, &b)
		if _, err := v.Ledger(&b.Ledger); err != nil {
			t.Errorf("line %d: %v", i+1, err)
		}
	}
}

func FuzzDecoders(f *testing.F) {
	for _, tt := range answers {
		if len(tt.answer) < maxDepth {
			f.Add([]byte(tt.answer))
		}
	}
	f.Add([]byte(`{"result":{"ledger":{"ledger_data":"00"},"ledger":null,"error":1e5},"warning":"\ud800load","result":-0.5E+3}`))
	var a, b Answer
	f.Fuzz(func(t *testing.T, bytes []byte) { agree(t, bytes, &a, &b) })
}

// A network's id is read where it is one; anything else in its place spoils nothing.
func TestInfoNetwork(t *testing.T) {
	for text, want := range map[string]*uint32{
		``: nil, `,"network_id":0`: new(uint32(0)), `,"network_id":4294967295`: new(uint32(1<<32 - 1)),
		`,"network_id":4294967296`: nil, `,"network_id":"1"`: nil, `,"network_id":{}`: nil, `,"network_id":-1`: nil, `,"network_id":null`: nil,
	} {
		info, err := DecodeInfo([]byte(`{"result":{"info":{"complete_ledgers":"5-9"` + text + `}}}`))
		if err != nil || info.Complete.String() != "5-9" || !reflect.DeepEqual(info.Network, want) {
			t.Errorf("%s: %+v, %v", text, info, err)
		}
	}
}

func FuzzInfo(f *testing.F) {
	f.Add([]byte(`{"result":{"info":{"complete_ledgers":"32570-32580,40000","server_state":"full","validated_ledger":{"hash":"` + hash + `","seq":40000}},"status":"success"}}`))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		info, err := DecodeInfo(bytes)
		if err != nil && CodeOf(err) == 0 {
			t.Errorf("%v is no *Error", err)
		}
		if err != nil && !reflect.ValueOf(info).IsZero() {
			t.Errorf("%+v with an error", info)
		}
	})
}

// TestScanAllocations checks that a ledger of many transactions costs as few allocations as an
// empty one.
func TestScanAllocations(t *testing.T) {
	var a Answer
	var d scanDecoder
	allocations := func(n int) float64 {
		answer := []byte(ofLedger("[" + strings.TrimSuffix(strings.Repeat(v1+",", n), ",") + "]"))
		return testing.AllocsPerRun(100, func() {
			if err := d.Decode(answer, &a); err != nil || len(a.Transactions) != n {
				t.Fatal(len(a.Transactions), err)
			}
		})
	}
	many, none := allocations(500), allocations(0)
	if many > none || many > 8 {
		t.Errorf("%v allocations for 500 transactions, %v for none", many, none)
	}
}
