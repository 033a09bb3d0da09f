package statetest

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/holiman/uint256"

	"dyno/services/chain/execution"
)

// run executes one variant on one fork and returns the root of the state after it. The error says
// what is not as the test expects it.
func (t test) run(on string, post posterior) (common.Hash, error) {
	config, err := execution.ForkConfig(on, big.NewInt(1))
	if err != nil {
		return common.Hash{}, err
	}
	t.Config.apply(config)
	before, err := t.before()
	if err != nil {
		return common.Hash{}, err
	}
	context, rules := t.Env.block(config)
	db, refused := before, error(nil)
	msg, err := t.message(config, rules, post, context.BaseFee)
	if errors.Is(err, errFormat) {
		return common.Hash{}, err
	}
	if refused = err; refused == nil {
		snapshot := db.Snapshot()
		evm := vm.NewEVM(context, db, config, vm.Config{})
		if _, refused = core.ApplyMessage(evm, msg, core.NewGasPool(uint64(t.Env.GasLimit))); refused != nil {
			db.RevertToSnapshot(snapshot)
		}
	}
	if refused == nil || t.Config == nil {
		// The miner's reward of 0 makes its account, where forks know empty accounts. Those who made
		// the files without a config sealed the block also when it had no transaction.
		db.AddBalance(t.Env.Coinbase, new(uint256.Int), tracing.BalanceChangeUnspecified)
	}
	root := db.IntermediateRoot(rules)
	return root, errors.Join(judge(post, refused, root, db.Logs()), db.Error())
}

// judge holds what came out against what must.
func judge(post posterior, refused error, root common.Hash, logs []*types.Log) error {
	switch {
	case refused != nil && post.ExpectException == "":
		return fmt.Errorf("the transaction is refused: %w", refused)
	case refused == nil && post.ExpectException != "":
		return fmt.Errorf("the transaction is valid; it should be refused for %s", post.ExpectException)
	case refused != nil && post.Root == common.UnprefixedHash{}:
		return nil // the test says nothing of the state
	case root != common.Hash(post.Root):
		return fmt.Errorf("the state's root is %x, want %x", root, post.Root)
	case refused != nil:
		return nil
	}
	encoded, err := rlp.EncodeToBytes(logs)
	if err != nil {
		return err
	}
	if hash := crypto.Keccak256Hash(encoded); hash != common.Hash(post.Logs) {
		return fmt.Errorf("the logs' hash is %x, want %x", hash, post.Logs)
	}
	return nil
}

// before returns the state before the transaction, in memory.
func (t test) before() (*state.StateDB, error) {
	nodes := state.NewDatabase(triedb.NewDatabase(rawdb.NewMemoryDatabase(), nil), nil)
	db, err := state.New(types.EmptyRootHash, nodes)
	if err != nil {
		return nil, err
	}
	for address, account := range t.Pre {
		db.SetCode(address, account.Code, tracing.CodeChangeUnspecified)
		db.SetNonce(address, account.Nonce, tracing.NonceChangeUnspecified)
		db.SetBalance(address, uint256.MustFromBig(account.Balance), tracing.BalanceChangeUnspecified) // parse has seen its width
		for key, value := range account.Storage {
			db.SetState(address, key, value)
		}
	}
	root, err := db.Commit(params.Rules{}, 0)
	if err != nil {
		return nil, err
	}
	return state.New(root, nodes)
}

// block is the block that the transaction is in, as the EVM sees it, with the rules that hold
// there.
func (e environment) block(config *params.ChainConfig) (vm.BlockContext, params.Rules) {
	c := vm.BlockContext{
		CanTransfer: core.CanTransfer,
		Transfer:    core.Transfer,
		GetHash:     hashOf,
		Coinbase:    e.Coinbase,
		BlockNumber: new(big.Int).SetUint64(uint64(e.Number)),
		Time:        uint64(e.Timestamp),
		Difficulty:  bigOr((*big.Int)(e.Difficulty), 0),
		GasLimit:    uint64(e.GasLimit),
	}
	if config.LondonBlock != nil {
		c.BaseFee = bigOr((*big.Int)(e.BaseFee), 10) // what retesteth takes for a file without one
	}
	merged := execution.Merged(config)
	if merged {
		random := common.BigToHash(bigOr((*big.Int)(e.Random), 0))
		c.Random, c.Difficulty = &random, new(big.Int)
	}
	rules := config.Rules(c.BlockNumber, merged, c.Time)
	if rules.IsCancun {
		header := &types.Header{Time: c.Time, ExcessBlobGas: new(uint64)}
		if e.ExcessBlobGas != nil {
			*header.ExcessBlobGas = uint64(*e.ExcessBlobGas)
		}
		c.BlobBaseFee = eip4844.CalcBlobFee(config, header)
	}
	return c, rules
}

// hashOf is the hash that the tests give every block.
func hashOf(number uint64) common.Hash {
	return crypto.Keccak256Hash([]byte(new(big.Int).SetUint64(number).String()))
}

// message returns the transaction for the EVM. An error that is not errFormat refuses the
// transaction.
func (t test) message(config *params.ChainConfig, rules params.Rules, post posterior, baseFee *big.Int) (*core.Message, error) {
	v, err := t.Transaction.pick(post)
	if err != nil {
		return nil, err
	}
	msg := &core.Message{Data: v.data, AccessList: v.accessList, BlobHashes: t.Transaction.BlobVersionedHashes}
	if msg.From, err = t.Transaction.from(); err != nil {
		return nil, err
	}
	if to := t.Transaction.To; to != "" {
		if !common.IsHexAddress(to) {
			return nil, fmt.Errorf("to: %q is no address", to)
		}
		address := common.HexToAddress(to)
		msg.To = &address
	}
	if err := t.Transaction.numbers(msg, v, baseFee); err != nil {
		return nil, err
	}
	if t.Transaction.AuthorizationList != nil {
		msg.SetCodeAuthorizations = []types.SetCodeAuthorization{}
	}
	for _, a := range t.Transaction.AuthorizationList {
		authorization, err := a.parse()
		if err != nil {
			return nil, fmt.Errorf("authorization: %w", err)
		}
		msg.SetCodeAuthorizations = append(msg.SetCodeAuthorizations, authorization)
	}
	if most := eip4844.MaxBlobsPerBlock(config, uint64(t.Env.Timestamp)); rules.IsCancun && len(msg.BlobHashes) > most {
		return nil, fmt.Errorf("%d blobs are more than a block has (%d)", len(msg.BlobHashes), most)
	}
	return msg, t.signed(config, post.TxBytes)
}

// signed judges the bytes of the transaction, if the file has them.
func (t test) signed(config *params.ChainConfig, raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	tx, err := execution.DecodeTransaction(raw)
	if err != nil {
		return err
	}
	number := new(big.Int).SetUint64(uint64(t.Env.Number))
	_, err = execution.NewJudge(config, number, execution.Merged(config), uint64(t.Env.Timestamp)).Judge(tx)
	return err
}

// from returns the sender.
func (t template) from() (common.Address, error) {
	if t.Sender != nil {
		return *t.Sender, nil
	}
	key, err := crypto.ToECDSA(t.SecretKey)
	if err != nil {
		return common.Address{}, fmt.Errorf("%w: there is no sender, and the secretKey is none: %w", errFormat, err)
	}
	return crypto.PubkeyToAddress(key.PublicKey), nil
}

// numbers fills in the transaction's numbers, each within its width.
func (t template) numbers(msg *core.Message, v variant, baseFee *big.Int) error {
	cap := t.GasPrice
	if baseFee != nil {
		cap = t.MaxFeePerGas.or(t.GasPrice)
	} else if t.GasPrice == "" && t.MaxFeePerGas != "" {
		return fmt.Errorf("%w: there is no maxFeePerGas before London", core.ErrTxTypeNotSupported)
	}
	read := func(name string, n number, bits int) (*big.Int, error) {
		x, err := n.wide(bits)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return x, nil
	}
	nonce, err1 := read("nonce", t.Nonce.or("0"), 64)
	gas, err2 := read("gasLimit", v.gasLimit.or("0"), 64)
	value, err3 := read("value", v.value.or("0"), 256)
	price, err4 := read("price", cap.or("0"), 256)
	tip, err5 := read("maxPriorityFeePerGas", t.MaxPriorityFeePerGas.or(cap).or("0"), 256)
	blobFee, err6 := read("maxFeePerBlobGas", t.MaxFeePerBlobGas, 256)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		return err
	}
	msg.Nonce, msg.GasLimit = nonce.Uint64(), gas.Uint64()
	msg.Value, msg.GasFeeCap, msg.GasTipCap = uint256.MustFromBig(value), uint256.MustFromBig(price), uint256.MustFromBig(tip)
	if blobFee != nil {
		msg.BlobGasFeeCap = uint256.MustFromBig(blobFee)
	}
	if len(msg.BlobHashes) > 0 && blobFee == nil {
		msg.BlobGasFeeCap = new(uint256.Int)
	}
	effective := price
	if baseFee != nil {
		if sum := new(big.Int).Add(tip, baseFee); sum.Cmp(price) < 0 {
			effective = sum
		}
	}
	msg.GasPrice = uint256.MustFromBig(effective)
	return nil
}

func (a authorization) parse() (types.SetCodeAuthorization, error) {
	chain, err1 := a.ChainID.or("0").wide(256)
	nonce, err2 := a.Nonce.or("0").wide(64)
	v, err3 := a.V.or(a.YParity).or("0").wide(8)
	r, err4 := a.R.or("0").wide(256)
	s, err5 := a.S.or("0").wide(256)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return types.SetCodeAuthorization{}, err
	}
	return types.SetCodeAuthorization{
		ChainID: *uint256.MustFromBig(chain), Address: a.Address, Nonce: nonce.Uint64(),
		V: uint8(v.Uint64()), R: *uint256.MustFromBig(r), S: *uint256.MustFromBig(s),
	}, nil
}
