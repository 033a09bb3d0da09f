package execution

import (
	"math/big"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/params"

	"dyno/parts/refusal"
)

// forkStep is one fork: its names (that of ethereum/tests first, then others in use) and what it
// adds to the rules of the fork before it.
type forkStep struct {
	names []string
	add   func(*params.ChainConfig)
}

// forkSteps are the forks in their order. A name beside the first that means the same rules is
// listed with them (ice age delays change neither transactions nor execution).
var forkSteps = []forkStep{
	{[]string{"Frontier"}, func(*params.ChainConfig) {}},
	{[]string{"Homestead"}, func(c *params.ChainConfig) { c.HomesteadBlock = zero() }},
	{[]string{"EIP150", "TangerineWhistle"}, func(c *params.ChainConfig) { c.EIP150Block = zero() }},
	{[]string{"EIP158", "SpuriousDragon"}, func(c *params.ChainConfig) { c.EIP155Block, c.EIP158Block = zero(), zero() }},
	{[]string{"Byzantium"}, func(c *params.ChainConfig) { c.ByzantiumBlock = zero() }},
	{[]string{"Constantinople"}, func(c *params.ChainConfig) {
		c.ConstantinopleBlock, c.PetersburgBlock = zero(), new(big.Int).Lsh(big.NewInt(1), 62) // nil would mean Petersburg, too
	}},
	{[]string{"ConstantinopleFix", "Petersburg"}, func(c *params.ChainConfig) { c.PetersburgBlock = zero() }},
	{[]string{"Istanbul"}, func(c *params.ChainConfig) { c.IstanbulBlock = zero() }},
	{[]string{"MuirGlacier"}, func(c *params.ChainConfig) { c.MuirGlacierBlock = zero() }},
	{[]string{"Berlin"}, func(c *params.ChainConfig) { c.BerlinBlock = zero() }},
	{[]string{"London"}, func(c *params.ChainConfig) { c.LondonBlock = zero() }},
	{[]string{"ArrowGlacier"}, func(c *params.ChainConfig) { c.ArrowGlacierBlock = zero() }},
	{[]string{"GrayGlacier"}, func(c *params.ChainConfig) { c.GrayGlacierBlock = zero() }},
	{[]string{"Paris", "Merge"}, func(c *params.ChainConfig) { c.MergeNetsplitBlock, c.TerminalTotalDifficulty = zero(), zero() }},
	{[]string{"Shanghai"}, func(c *params.ChainConfig) { c.ShanghaiTime = new(uint64) }},
	{[]string{"Cancun"}, func(c *params.ChainConfig) { c.CancunTime = new(uint64) }},
	{[]string{"Prague"}, func(c *params.ChainConfig) { c.PragueTime = new(uint64) }},
	{[]string{"Osaka"}, func(c *params.ChainConfig) { c.OsakaTime = new(uint64) }},
	{[]string{"BPO1"}, func(c *params.ChainConfig) { c.BPO1Time = new(uint64) }},
	{[]string{"BPO2"}, func(c *params.ChainConfig) { c.BPO2Time = new(uint64) }},
	{[]string{"Amsterdam"}, func(c *params.ChainConfig) { c.AmsterdamTime = new(uint64) }},
}

func zero() *big.Int { return new(big.Int) }

// ForkNames lists the forks in their order, each by all of its names.
func ForkNames() (names []string) {
	for _, s := range forkSteps {
		names = append(names, s.names...)
	}
	return names
}

// ForkConfig returns the rules of a chain that is on the named fork from block 0; upper and lower
// case are the same. The error for an unknown name lists the valid ones.
func ForkConfig(name string, chainID *big.Int) (*params.ChainConfig, error) {
	same := func(other string) bool { return strings.EqualFold(name, other) }
	last := slices.IndexFunc(forkSteps, func(s forkStep) bool { return slices.ContainsFunc(s.names, same) })
	if last < 0 {
		return nil, refusal.Unknown("fork", name, ForkNames()...)
	}
	c := &params.ChainConfig{
		ChainID:                chainID,
		DepositContractAddress: params.MainnetChainConfig.DepositContractAddress,
		BlobScheduleConfig: &params.BlobScheduleConfig{
			Cancun: params.DefaultCancunBlobConfig,
			Prague: params.DefaultPragueBlobConfig,
			BPO1:   params.DefaultBPO1BlobConfig,
			BPO2:   params.DefaultBPO2BlobConfig,
		},
	}
	for _, s := range forkSteps[:last+1] {
		s.add(c)
	}
	return c, nil
}

// Merged reports whether a chain is of proof of stake from its first block.
func Merged(c *params.ChainConfig) bool {
	return c.TerminalTotalDifficulty != nil && c.TerminalTotalDifficulty.Sign() == 0
}
