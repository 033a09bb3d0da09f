package trust

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpltest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func verify(t testing.TB, text string, level Level) Report {
	t.Helper()
	report, err := VerifyFile(t.Context(), strings.NewReader(text), Options{Level: level, Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	if report.Verified+len(report.Failed) != report.Ledgers {
		t.Errorf("%d verified and %d failed are not %d", report.Verified, len(report.Failed), report.Ledgers)
	}
	return report
}

// lines are the lines that failed.
func (r Report) lines() (lines []int) {
	for _, f := range r.Failed {
		lines = append(lines, f.Line)
	}
	return lines
}

func TestWhatEachLevelCounts(t *testing.T) {
	all := mint(t, 6)
	text := file(all)
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	for level, want := range map[Level]Report{
		L0: {6, 6, 12, 0, 0, []Failure{}, Marks{Marked: []Mark{}}},
		L1: {6, 6, 12, 0, 0, []Failure{}, Marks{Marked: []Mark{}}},
		L2: {6, 6, 12, 0, 5, []Failure{}, Marks{Marked: []Mark{}}},
		L3: {6, 6, 12, 0, 5, []Failure{}, Marks{Marked: []Mark{}}},
		L4: {6, 6, 12, 12, 5, []Failure{}, Marks{Marked: []Mark{}}},
	} {
		for _, text := range []string{text, file(backwards), text + "\n \r\n\n", strings.TrimSpace(text)} {
			if got := verify(t, text, level); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v: %+v, not %+v", level, got, want)
			}
		}
	}
}

// Each case changes ledger 3 of 6 (line 4) in its own way.
func TestTamperedLedgersFail(t *testing.T) {
	forge := func(all []*xrpl.Ledger) {
		b := all[3].Transactions[0].Blob
		b[len(b)-1] ^= 1 // the last byte of the destination
	}
	for _, c := range []struct {
		name   string
		change func(all []*xrpl.Ledger)
		levels []Level // that find it, of L1, L2 and L4
		want   []int
		reason string
	}{
		{"a transaction", forge, []Level{L1, L2, L4}, []int{4}, "transaction tree"},
		{"metadata", func(all []*xrpl.Ledger) { all[3].Transactions[1].Meta[4] ^= 1 }, []Level{L1, L2, L4}, []int{4}, "transaction tree"},
		{"a transaction is missing", func(all []*xrpl.Ledger) { all[3].Transactions = all[3].Transactions[1:] }, []Level{L1, L2, L4}, []int{4}, "transaction tree"},
		{"the header", func(all []*xrpl.Ledger) { all[3].Header[100] ^= 1 }, []Level{L1, L2, L4}, []int{4}, "ledger hash"},
		{"the hash", func(all []*xrpl.Ledger) { all[3].Hash[0] ^= 1 }, []Level{L1, L2, L4}, []int{4}, "ledger hash"},
		{"another index", func(all []*xrpl.Ledger) { all[3].Index = 7 }, []Level{L1, L2, L4}, []int{4}, "another ledger"},
		{"a transaction, and its own hashes fit", func(all []*xrpl.Ledger) { forge(all); seal(t, all[3], parent(all[3])) },
			[]Level{L2, L4}, []int{4}, ""},
		{"its parent, and its own hashes fit", func(all []*xrpl.Ledger) { seal(t, all[3], xrpl.Hash{1}) }, []Level{L2, L4}, []int{4}, "parent"},
		{"a transaction, and all hashes fit", func(all []*xrpl.Ledger) { forge(all); relink(t, all, 3) }, []Level{L4}, []int{4}, "signature"},
	} {
		for _, level := range []Level{L1, L2, L4} {
			all := mint(t, 6)
			c.change(all)
			got := verify(t, file(all), level)
			want := c.want
			if !slices.Contains(c.levels, level) {
				want = nil
			}
			if !slices.Equal(got.lines(), want) {
				t.Errorf("%s: %v finds lines %v, not %v: %+v", c.name, level, got.lines(), want, got.Failed)
				continue
			}
			if len(want) > 0 && (!strings.Contains(got.Failed[0].Reason, c.reason) || got.Failed[0].Index != all[3].Index) {
				t.Errorf("%s: %v says %+v, without %q", c.name, level, got.Failed[0], c.reason)
			}
		}
	}
}

// If the topmost two contradict each other, both fail, unless one of them fits no other ledger.
func TestTopmostContradiction(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(all []*xrpl.Ledger)
		want   []int
	}{
		{"the top's parent", func(all []*xrpl.Ledger) { seal(t, all[4], xrpl.Hash{1}) }, []int{4, 5}},
		{"the one below the top", func(all []*xrpl.Ledger) {
			all[3].Transactions = all[3].Transactions[:1]
			seal(t, all[3], parent(all[3]))
		}, []int{4, 5}},
		{"the one below the top, in everything", func(all []*xrpl.Ledger) { seal(t, all[3], xrpl.Hash{1}) }, []int{4}},
	} {
		all := mint(t, 5)
		c.change(all)
		if got := verify(t, file(all), L2); !slices.Equal(got.lines(), c.want) || got.Links == 4 {
			t.Errorf("%s: %+v, not lines %v", c.name, got, c.want)
		}
	}
}

func TestSeveralOfOneIndex(t *testing.T) {
	all := mint(t, 4)
	rival := *all[2]
	rival.Transactions = nil
	seal(t, &rival, parent(all[2]))
	broken := *all[2]
	broken.Transactions = nil
	for _, c := range []struct {
		name        string
		file        []*xrpl.Ledger
		want        []int
		links       int
		wantReasons string
	}{
		{"the same twice", []*xrpl.Ledger{all[0], all[1], all[1], all[2]}, nil, 2, ""},
		{"another one, and the one above decides", []*xrpl.Ledger{all[0], &rival, all[1], all[2], all[3]}, []int{2}, 4, "the one above names that"},
		{"another one, undecided", []*xrpl.Ledger{all[0], all[1], all[2], &rival}, []int{3, 4}, 3, "nothing in the file says"},
		{"the same once more, broken", []*xrpl.Ledger{all[1], all[2], &broken, all[3]}, []int{3}, 2, "transaction tree"},
		{"gaps are no contradiction", []*xrpl.Ledger{all[0], all[2]}, nil, 0, ""},
	} {
		got := verify(t, file(c.file), L2)
		if !slices.Equal(got.lines(), c.want) || got.Links != c.links {
			t.Errorf("%s: %+v, not lines %v and %d links", c.name, got, c.want, c.links)
		} else if len(c.want) > 0 && !strings.Contains(got.Failed[0].Reason, c.wantReasons) {
			t.Errorf("%s: %q", c.name, got.Failed[0].Reason)
		}
	}
}

func TestShapesOfAnswers(t *testing.T) {
	l := mint(t, 1)[0]
	id := xrpl.TransactionID(l.Transactions[0].Blob)
	usual := line(l)
	empty := &xrpl.Ledger{Index: 7}
	seal(t, empty, xrpl.Hash{})
	second := func(s string) string { return strings.ReplaceAll(s, `"meta"`, `"meta_blob"`) }
	hashed := func(hash string) string {
		return strings.Replace(second(usual), `{"tx_blob"`, `{"hash":"`+hash+`","tx_blob"`, 1)
	}
	inside := func(more string) string { return strings.Replace(usual, `"closed":true`, more, 1) }
	for _, c := range []struct{ name, text, wrong string }{
		{"usual", usual, ""},
		{"with type and id", strings.Replace(usual, `{`, `{"id":1,"type":"response",`, 1), ""},
		{"only the result in an object", `{"result":` + bare(l) + `}`, ""},
		{"the result itself", bare(l), ""},
		{"of the second version of the API", hashed(id.String()), ""},
		{"index as a string", strings.Replace(usual, `"ledger_index":100`, `"ledger_index":"100"`, 1), ""},
		{"no index", strings.Replace(usual, `"ledger_index":100,`, ``, 1), ""},
		{"index and hash twice", inside(`"ledger_index":"100","hash":"` + strings.ToLower(l.Hash.String()) + `"`), ""},
		{"index and hash in the ledger", strings.Replace(strings.Replace(inside(`"ledger_index":100,"ledger_hash":"`+l.Hash.String()+`"`),
			`,"ledger_hash":"`+l.Hash.String()+`","ledger_index":100,"validated"`, `,"validated"`, 1), `"status"`, `"state"`, 1), ""},
		{"after a byte order mark", "\xef\xbb\xbf" + usual, ""},
		{"transactions null", strings.Replace(line(empty), `[]`, `null`, 1), ""},
		{"no transactions", strings.Replace(line(empty), `,"transactions":[]`, ``, 1), ""},

		{"no hash", strings.Replace(usual, `"ledger_hash"`, `"ledger_hush"`, 1), "no ledger_hash"},
		{"a hash of zeros", strings.Replace(usual, l.Hash.String(), strings.Repeat("0", 64), 1), "zero"},
		{"two hashes", inside(`"ledger_hash":"` + id.String() + `"`), "two hashes"},
		{"two hashes, the other name", inside(`"hash":"` + id.String() + `"`), "two hashes"},
		{"two indexes", inside(`"ledger_index":"101"`), "ledger 100, and the ledger in it is 101"},
		{"index zero", strings.Replace(usual, `"ledger_index":100`, `"ledger_index":0`, 1), "no index"},
		{"metadata twice", strings.Replace(usual, `{"tx_blob"`, `{"meta_blob":"00","tx_blob"`, 1), "another meta_blob"},
		{"another transaction's hash", hashed(strings.Repeat("0A", 32)), "calls it"},
		{"a transaction's hash of zeros", hashed(strings.Repeat("0", 64)), "calls it"},
		{"an error that says no more", strings.Replace(usual, `"status":"success"`, `"status":"error"`, 1), "is an error"},
		{"an error in the result that says no more", strings.Replace(usual, `"result":{`, `"result":{"status":"error",`, 1), "is an error"},
		{"an error", `{"result":{"error":"lgrNotFound","status":"error"}}`, "lgrNotFound"},
		{"an error at the top", `{"error":"slowDown"}`, "slowDown"},
		{"no ledger", `{"result":{}}`, "no result.ledger"},
		{"not in binary", `{"result":{"ledger":{"ledger_hash":"` + l.Hash.String() + `"}}}`, "binary: true"},
		{"transactions not expanded", strings.Replace(line(empty), `[]`, `["`+id.String()+`"]`, 1), "expand: true"},
		{"no metadata", strings.Replace(usual, `"meta"`, `"mata"`, 1), "no meta"},
		{"not hex", strings.Replace(usual, `"tx_blob":"12`, `"tx_blob":"1X`, 1), "invalid byte"},
		{"a negative index", strings.Replace(usual, `"ledger_index":100`, `"ledger_index":-1`, 1), "no index"},
		{"an index in words", strings.Replace(usual, `"ledger_index":100`, `"ledger_index":"validated"`, 1), ""},
		{"an index too large", strings.Replace(usual, `"ledger_index":100`, `"ledger_index":4294967296`, 1), "no index"},
		{"not JSON", `ledger`, "no answer"},
		{"cut off", usual[:len(usual)/2], "no answer"},
		{"a number", `7`, "no answer"},
		{"nothing in it", `null`, "no result.ledger"},
		{"a short header", strings.Replace(usual, `"ledger_data":"00`, `"ledger_data":"`, 1), "118 bytes"},
	} {
		got := verify(t, c.text+"\n"+usual, L2)
		switch {
		case got.Ledgers != 2:
			t.Errorf("%s: %+v", c.name, got)
		case c.wrong == "" && len(got.Failed) > 0:
			t.Errorf("%s: %+v", c.name, got.Failed)
		case c.wrong != "" && (!slices.Equal(got.lines(), []int{1}) || !strings.Contains(got.Failed[0].Reason, c.wrong)):
			t.Errorf("%s: %+v, without %q in line 1", c.name, got.Failed, c.wrong)
		}
	}
}

// A ledger whose fields cannot be read still has its hash, as in a sync. It is marked at L4, and
// the ledgers above and below are linked to it.
func TestUnreadableFieldsAreMarkedAtL4(t *testing.T) {
	for level := L0; level <= L4; level++ {
		all := mint(t, 5)
		all[2].Transactions[1].Meta = append(all[2].Transactions[1].Meta, 0xc1)
		relink(t, all, 2)
		got := verify(t, file(all), level)
		var want []int
		if level == L4 {
			want = []int{3}
		}
		if !slices.Equal(got.lines(), want) || got.Marks.Len() != len(want) || level >= L2 && got.Links != 4 {
			t.Errorf("%v: %+v", level, got)
		}
		if said := got.Summary(); level == L4 && !strings.Contains(said, "1 (102); the first: transaction ") {
			t.Errorf("it says %q", said)
		}
	}
}

// Metadata is protected by hashes alone, which an attacker can make fit: its format is checked
// nevertheless.
func TestMetadataThatFitsItsHashes(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(txs []xrpl.Transaction)
		reason string
	}{
		{"none", func(txs []xrpl.Transaction) { txs[1].Meta = nil }, "TransactionIndex"},
		{"a place twice", func(txs []xrpl.Transaction) { txs[1].Meta = txs[0].Meta }, "place 0, as another"},
		{"a place beyond the last", func(txs []xrpl.Transaction) { m := xrpl.Meta{Index: 2}; txs[1].Meta = m.Append(nil) }, "place 2"},
	} {
		for level := L1; level <= L4; level++ {
			l := mint(t, 1)[0]
			c.change(l.Transactions)
			seal(t, l, xrpl.Hash{})
			if got := verify(t, line(l), level); len(got.Failed) != 1 || !strings.Contains(got.Failed[0].Reason, c.reason) {
				t.Errorf("%s, %v: %+v, without %q", c.name, level, got, c.reason)
			}
		}
	}
}

// endless is a line that does not end for a long time.
type endless struct{ left int }

func (e *endless) Read(b []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(b), e.left)
	for i := range b[:n] {
		b[i] = '7'
	}
	e.left -= n
	return n, nil
}

func TestTooLongALineIsAFailureOfThatLine(t *testing.T) {
	good := file(mint(t, 2))
	r := io.MultiReader(strings.NewReader(good), &endless{maxLine + 1}, strings.NewReader("\n"+good))
	got, err := VerifyFile(t.Context(), r, Options{Level: L2})
	if err != nil || got.Ledgers != 5 || !slices.Equal(got.lines(), []int{3}) || !strings.Contains(got.Failed[0].Reason, "64 MiB") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWhatKeepsItFromReading(t *testing.T) {
	text := file(mint(t, 3))
	broken := errors.New("broken")
	if _, err := VerifyFile(t.Context(), io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), Options{}); !errors.Is(err, broken) {
		t.Errorf("a broken reader: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	many := strings.NewReader(strings.Repeat("7\n", 1<<16))
	if _, err := VerifyFile(ctx, many, Options{Workers: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := VerifyFile(t.Context(), strings.NewReader(text), Options{Signatures: "fast"}); err == nil || !strings.Contains(err.Error(), "pure") {
		t.Errorf("an unknown checker: %v", err)
	}
}

func TestRealLedgersVerify(t *testing.T) {
	text := bytes.Join(xrpltest.Lines(t), []byte("\n"))
	for level := L0; level <= L4; level++ {
		got := verify(t, string(text), level)
		if got.Ledgers == 0 || len(got.Failed) > 0 || level >= L2 && got.Links == 0 || level == L4 && got.Signatures == 0 {
			t.Errorf("%v: %+v", level, got)
		}
	}
}

func FuzzVerifyFile(f *testing.F) {
	l := mint(f, 1)[0]
	f.Add(line(l) + "\n\n" + bare(l) + "\n7")
	f.Fuzz(func(t *testing.T, text string) {
		for _, level := range []Level{L0, L4} {
			if got := verify(t, text, level); got.Err() == nil && got.Verified == 0 {
				t.Errorf("%+v is a success", got)
			}
		}
	})
}
