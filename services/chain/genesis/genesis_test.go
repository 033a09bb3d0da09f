package genesis

import (
	"os"
	"strings"
	"testing"
)

// minimal is a genesis of Prague; more goes into it at the %.
const minimal = `{"config":{"chainId":7,"homesteadBlock":0,"eip150Block":0,"eip155Block":0,"eip158Block":0,"byzantiumBlock":0,
	"constantinopleBlock":0,"petersburgBlock":0,"istanbulBlock":0,"berlinBlock":0,"londonBlock":0,"terminalTotalDifficulty":0%},
	"gasLimit":"0x1c9c380","difficulty":"0x0","alloc":{"00000000000000000000000000000000000000aa":{"balance":"0x10"}}}`

func with(config, outside string) string {
	text := strings.Replace(minimal, "%", config, 1)
	return strings.Replace(text, `"gasLimit"`, outside+`"gasLimit"`, 1)
}

// blobs are a fork's limits of them.
const blobs = `{"target":3,"max":6,"baseFeeUpdateFraction":3338477}`

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"minimal", with("", ""), ""},
		{"with rules", with("", `"chaind":{"rootEvery":1,"zeroBaseFee":true},`), ""},
		{"no JSON", "x", "not as go-ethereum has it"},
		{"no config", `{"gasLimit":"0x1","difficulty":"0x0","alloc":{}}`, `no "config"`},
		{"no chain id", strings.Replace(with("", ""), `"chainId":7,`, "", 1), "chainId"},
		{"clique", with(`,"clique":{"period":1,"epoch":1}`, ""), "clique"},
		{"forks out of order", with(`,"cancunTime":0`, ""), "shanghaiTime not enabled"},
		{"no blob schedule", with(`,"shanghaiTime":0,"cancunTime":0`, ""), "blobSchedule"},
		{"Prague without its contracts", with(`,"terminalTotalDifficulty":0,"shanghaiTime":0,"cancunTime":0,"pragueTime":0,"blobSchedule":{"cancun":`+blobs+`,"prague":`+blobs+`}`, ""), "needs the contract of EIP-7"},
		{"roots", with("", `"chaind":{"rootEvery":5},`), "rootEvery"},
		{"a misspelt rule", with("", `"chaind":{"rootsEvery":5},`), `unknown field "rootsEvery"`},
		{"no rules", with("", `"chaind":null,`), ""},
		{"rules of the wrong type", with("", `"chaind":{"zeroBaseFee":3},`), "rules of chaind"},
		{"two base fees", with("", `"chaind":{"zeroBaseFee":true},"baseFeePerGas":"0x1",`), "contradicts"},
		{"free gas before London", with("", `"chaind":{"zeroBaseFee":true},`)[:10] + strings.Replace(with("", `"chaind":{"zeroBaseFee":true},`)[10:], `"londonBlock":0`, `"londonBlock":9`, 1), "needs"},
	} {
		g, err := Parse([]byte(c.text))
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
		if err != nil {
			continue
		}
		again, err := Parse(g.JSON())
		if err != nil {
			t.Fatal(err)
		}
		if same, err := g.Same(again); !same || err != nil {
			t.Errorf("%s: what is stored is another genesis (%v)", c.name, err)
		}
		if g.Rules.ZeroBaseFee && g.Block().BaseFee().Sign() != 0 {
			t.Errorf("%s: block 0 has the base fee %v", c.name, g.Block().BaseFee())
		}
	}
}

func TestOthers(t *testing.T) {
	g, err := Parse([]byte(with("", "")))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		strings.Replace(with("", ""), "0x10", "0x11", 1),
		strings.Replace(with("", ""), `"chainId":7`, `"chainId":8`, 1),
		with(`,"shanghaiTime":1000`, ""),
		with("", `"chaind":{"zeroBaseFee":true},`),
	} {
		other, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if same, err := g.Same(other); same || err != nil {
			t.Errorf("%s is the same (%v)", text, err)
		}
	}
}

// A genesis that is accepted has a block 0, and what is stored of it is the same one.
func FuzzParse(f *testing.F) {
	f.Add([]byte(with("", "")))
	f.Add([]byte(with("", `"chaind":{"rootEvery":1,"zeroBaseFee":true},`)))
	if text, err := os.ReadFile("../testdata/archive/genesis.json"); err == nil {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(g.JSON())
		if err != nil {
			t.Fatal(err)
		}
		if same, err := g.Same(again); !same || err != nil {
			t.Errorf("what is stored is another genesis (%v)", err)
		}
	})
}
