package pgoutput

import (
	"encoding/binary"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// message writes what the manual says that PostgreSQL writes.
type message []byte

func (m message) byte(b ...byte) message  { return append(m, b...) }
func (m message) uint16(v uint16) message { return binary.BigEndian.AppendUint16(m, v) }
func (m message) uint32(v uint32) message { return binary.BigEndian.AppendUint32(m, v) }
func (m message) uint64(v uint64) message { return binary.BigEndian.AppendUint64(m, v) }
func (m message) text(s string) message   { return append(append(m, s...), 0) }
func (m message) column(s string) message { return append(m.byte('t').uint32(uint32(len(s))), s...) }
func of(k Kind) message                   { return message{byte(k)} }
func (m message) row(s ...string) message {
	m = m.uint16(uint16(len(s)))
	for _, c := range s {
		if c == "" {
			m = m.byte('n')
			continue
		}
		m = m.column(c)
	}
	return m
}

func samples() map[string]message {
	return map[string]message{
		"begin":            of(Begin).uint64(0x16B374D848).uint64(1).uint32(777),
		"commit":           of(Commit).byte(0).uint64(5).uint64(0x16B374D900).uint64(1),
		"relation":         of(Relation).uint32(16400).text("public").text("orders").byte('d').uint16(2).byte(1).text("uid").uint32(20).uint32(0).byte(0).text("account").uint32(25).uint32(0),
		"insert":           of(Insert).uint32(16400).byte('N').row("42", "A1", ""),
		"update":           of(Update).uint32(16400).byte('N').row("42", "A1"),
		"update of key":    of(Update).uint32(16400).byte('K').row("41", "").byte('N').row("42", "A1"),
		"delete":           of(Delete).uint32(16400).byte('K').row("42", ""),
		"delete, full row": of(Delete).uint32(16400).byte('O').row("42", "A1"),
		"truncate":         of(Truncate).uint32(2).byte(1).uint32(16300).uint32(16400),
		"type":             of(Type).uint32(1).text("public").text("mood"),
		"origin":           of(Origin).uint64(1).text("elsewhere"),
	}
}

func parse(t *testing.T, data []byte) Message {
	t.Helper()
	m, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func column(t *testing.T, row Tuple, i int) string {
	t.Helper()
	text, err := row.Text(i)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestParse(t *testing.T) {
	s := samples()
	if m := parse(t, s["begin"]); m.XID != 777 || m.End != 0x16B374D848 || m.End.String() != "16/B374D848" {
		t.Errorf("begin: %+v", m)
	}
	if m := parse(t, s["commit"]); m.End != 0x16B374D900 {
		t.Errorf("commit: %+v", m)
	}
	if m := parse(t, s["relation"]); m.Relation != 16400 || m.Schema != "public" || m.Table != "orders" || strings.Join(m.Columns, " ") != "uid account" {
		t.Errorf("relation: %+v", m)
	}
	if m := parse(t, s["insert"]); m.Relation != 16400 || column(t, m.New, 0) != "42" || column(t, m.New, 1) != "A1" {
		t.Errorf("insert: %+v", m)
	}
	if m := parse(t, s["update"]); m.Old != nil || column(t, m.New, 0) != "42" {
		t.Errorf("update: %+v", m)
	}
	if m := parse(t, s["update of key"]); column(t, m.Old, 0) != "41" || column(t, m.New, 0) != "42" {
		t.Errorf("update of key: %+v", m)
	}
	for _, name := range []string{"delete", "delete, full row"} {
		if m := parse(t, s[name]); m.Relation != 16400 || column(t, m.Old, 0) != "42" {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if m := parse(t, s["truncate"]); !m.Truncated.Has(16400) || !m.Truncated.Has(16300) || m.Truncated.Has(16401) {
		t.Errorf("truncate: %+v", m)
	}
	for _, name := range []string{"type", "origin"} {
		if m := parse(t, s[name]); byte(m.Kind) != s[name][0] {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, whole := range samples() {
		if whole[0] == byte(Type) || whole[0] == byte(Origin) {
			continue // of which nothing is read
		}
		for n := range whole {
			if m, err := Parse(whole[:n]); err == nil {
				t.Errorf("%s, %d of its %d bytes: %+v", name, n, len(whole), m)
			}
		}
		if m, err := Parse(whole.byte(0)); err == nil {
			t.Errorf("%s and a byte: %+v", name, m)
		}
	}
	for name, data := range map[string]message{
		"unknown kind":    {'S', 0, 0, 0, 1},
		"no mark":         of(Insert).uint32(1).byte('X').row("1"),
		"no old row":      of(Delete).uint32(1).byte('N').row("1"),
		"unknown column":  of(Insert).uint32(1).byte('N').uint16(1).byte('z'),
		"huge column":     of(Insert).uint32(1).byte('N').uint16(1).byte('t').uint32(1 << 31),
		"huge truncation": of(Truncate).uint32(1 << 31).byte(0),
	} {
		if m, err := Parse(data); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestTextRefuses(t *testing.T) {
	row := parse(t, of(Insert).uint32(1).byte('N').uint16(3).byte('n').byte('u').byte('b').uint32(1).byte(7)).New
	for i := -1; i <= 3; i++ {
		if text, err := row.Text(i); err == nil {
			t.Errorf("column %d: %q", i, text)
		}
	}
}

func TestLSN(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := LSN(rapid.Uint64().Draw(t, "lsn"))
		if got, err := ParseLSN([]byte(l.String())); err != nil || got != l {
			t.Fatalf("%s: %s %v", l, got, err)
		}
	})
	for _, text := range []string{"", "/", "1", "1/", "/1", "1/G", "1/2/3", "-1/2", "123456789/1", "0x1/2", "1/123456789"} {
		if l, err := ParseLSN([]byte(text)); err == nil {
			t.Errorf("%q: %s", text, l)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, data := range samples() {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			return
		}
		if len(m.Columns) > len(data) || len(m.Old)+len(m.New)+len(m.Truncated) > len(data) {
			t.Fatalf("%d bytes hold %+v", len(data), m)
		}
		for _, row := range []Tuple{m.Old, m.New} {
			for i := range 4 {
				if text, err := row.Text(i); err == nil && len(text) > len(data) {
					t.Fatalf("%d bytes hold a column of %d", len(data), len(text))
				}
			}
		}
		m.Truncated.Has(1)
	})
}
