package history

import (
	"testing"

	"pgregory.net/rapid"
)

func TestParseSet(t *testing.T) {
	for text, want := range map[string]string{
		"empty": "empty", "": "empty", "5": "5", "1-5": "1-5", "7-9,1-5": "1-5,7-9", "1-5,6-9": "1-9", "1-5, 3-4": "1-5",
		"4294967295": "4294967295", "1-4294967295,7": "1-4294967295",
	} {
		s, err := ParseSet(text)
		if err != nil || s.String() != want {
			t.Errorf("ParseSet(%q) is %s, %v; want %s", text, s, err, want)
		}
	}
	for _, text := range []string{"0", "-", "1-", "5-1", "1-2-3", "x", "1,,2", "4294967296", "+1"} {
		if s, err := ParseSet(text); err == nil {
			t.Errorf("ParseSet(%q) is %s, want an error", text, s)
		}
	}
}

// A set behaves as a map of its ledgers does.
func TestSetModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Set
		var all []Range
		model := map[uint32]bool{}
		index := rapid.Uint32Range(1, 60)
		for range rapid.IntRange(0, 12).Draw(t, "ranges") {
			from := index.Draw(t, "from")
			r := Range{from, from + rapid.Uint32Range(0, 9).Draw(t, "more")}
			before := s.String()
			next := s.With(r)
			if s.String() != before {
				t.Fatalf("With changed %s into %s", before, s)
			}
			s = next
			all = append(all, r, Range{}, Range{9, 3})
			for i := r.From; i <= r.To; i++ {
				model[i] = true
			}
		}
		if once := (Set{}).With(all...); once.String() != s.String() {
			t.Fatalf("With gives %s of all ranges, and %s of one after another", once, s)
		}
		if s.Len() != len(model) {
			t.Fatalf("%s has %d ledgers, want %d", s, s.Len(), len(model))
		}
		from := index.Draw(t, "asked from")
		asked := Range{from, from + rapid.Uint32Range(0, 40).Draw(t, "asked")}
		missing := s.Missing(asked)
		for i := uint32(1); i < 120; i++ {
			if s.Has(i) != model[i] {
				t.Fatalf("%s: Has(%d) is %v", s, i, s.Has(i))
			}
			if missing.Has(i) != (asked.Has(i) && !model[i]) {
				t.Fatalf("%s: of %s %s are missing, which is wrong of %d", s, asked, missing, i)
			}
		}
		again, err := ParseSet(s.String())
		if err != nil || again.String() != s.String() {
			t.Fatalf("%s reads as %s, %v", s, again, err)
		}
		n := 0
		for i := range s.Indexes() {
			if !model[i] {
				t.Fatalf("%s yields %d", s, i)
			}
			n++
		}
		if n != len(model) {
			t.Fatalf("%s yields %d ledgers, want %d", s, n, len(model))
		}
	})
}

func FuzzParseSet(f *testing.F) {
	f.Add("32570-32580,40000")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSet(text)
		if err != nil {
			return
		}
		for i := 1; i < len(s); i++ {
			if uint64(s[i-1].To)+1 >= uint64(s[i].From) {
				t.Fatalf("%q: %v", text, s)
			}
		}
	})
}
