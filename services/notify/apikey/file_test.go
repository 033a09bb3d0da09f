package apikey

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const hash = "sha256:5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"
	const other = "sha256:6b3a55e0261b0304143f805a24924d0c1c44524821305f31d9277843b8a10f4e"
	long := strings.Repeat("n", maxName)
	for _, c := range []struct{ text, says string }{ // "": accepted
		{"", ""},
		{"# nothing but this", ""},
		{"\n \t\n shop\t" + hash + "  # the web shop's\r\nBilling_2.eu-1 " + other, ""},
		{"shop SHA256:" + hash[7:], "k:1: the second word"},
		{"shop " + strings.ToUpper(hash[7:]), "k:1: the second word"},
		{"shop sha256:" + strings.ToUpper(hash[7:]), ""},
		{"shop " + hash[:len(hash)-2], "k:1: the second word is not sha256: and 64"},
		{"shop " + hash + "00", "k:1: the second word"},
		{"shop sha256:" + strings.Repeat("g", 64), "k:1: the second word"},
		{"shop notifyd_SECRET", "k:1: the second word"},
		{"\n#\nnotifyd_SECRET", "k:3: 1 words"},
		{"shop " + hash + " SECRET", "k:1: 3 words"},
		{"SECRET! " + hash, "k:1: a name is made of"},
		{"schön " + hash, "k:1: a name is made of"},
		{long + " " + hash, ""},
		{long + "n " + hash, "k:1: a name has 1 to 64"},
		{"shop " + hash + "\nshop " + other, "k:2: the name shop is taken by line 1; to have two keys while changing one, call the new one shop-2"},
		{"shop " + hash + "\n\nshop-2 " + hash, "k:3: line 1 has the same key"},
	} {
		_, mistakes := parse("k", []byte(c.text))
		err := errors.Join(mistakes...)
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%q: %v", c.text, err)
		case c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)):
			t.Errorf("%q: %v, want %q", c.text, err, c.says)
		case err != nil && strings.Contains(err.Error(), "SECRET"):
			t.Errorf("%q: the error repeats a key: %v", c.text, err)
		}
	}
}

func TestParseIsBounded(t *testing.T) {
	var text strings.Builder
	for i := range maxKeys + 1 {
		text.WriteString(line(fmt.Sprint("n", i), fmt.Sprint(i)))
	}
	entries, mistakes := parse("k", []byte(text.String()))
	if len(entries) != maxKeys || len(mistakes) != 1 || !strings.HasPrefix(mistakes[0].Error(), "k:1001: more than 1000 keys") {
		t.Errorf("%d keys, %v", len(entries), mistakes)
	}
}

// What is accepted says the same when it is written again, and names no key or name twice.
func FuzzParse(f *testing.F) {
	f.Add([]byte("# who\n" + line("shop", "alpha") + line("billing", "beta")))
	f.Add([]byte("shop sha256:00\n"))
	f.Add([]byte("a b c\xff#"))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, mistakes := parse("k", text)
		for _, err := range mistakes {
			if !strings.HasPrefix(err.Error(), "k:") {
				t.Fatalf("the error names no line: %v", err)
			}
		}
		var again strings.Builder
		for _, e := range entries {
			fmt.Fprintln(&again, e)
		}
		same, mistakes := parse("k", []byte(again.String()))
		if len(mistakes) > 0 || !slices.Equal(same, entries) {
			t.Fatalf("%q became %q: %v", text, again.String(), mistakes)
		}
	})
}
