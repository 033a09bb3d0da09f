package testchain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"dyno/services/chain/genesis"
	"dyno/services/chain/testchain"
)

// What the node says of itself has the fork of its genesis.
func TestHardFork(t *testing.T) {
	for fork, change := range map[string]func(config map[string]any){
		"Prague": func(map[string]any) {},
		"Cancun": func(config map[string]any) { delete(config, "pragueTime") },
	} {
		var text map[string]any
		if err := json.Unmarshal(genesis.Test(1).JSON(), &text); err != nil {
			t.Fatal(err)
		}
		change(text["config"].(map[string]any))
		changed, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		g, err := genesis.Parse(changed)
		if err != nil {
			t.Fatal(err)
		}
		c, err := testchain.Open(t.Context(), t.TempDir(), g, testchain.Options{Fail: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		s := &suite{c, t, c.Methods()}
		if got := s.call("anvil_nodeInfo"); !strings.Contains(got, `"hardFork":"`+fork+`"`) {
			t.Errorf("%s, want %s", got, fork)
		}
		s.close()
	}
}
