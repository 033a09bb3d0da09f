package chaintest

import (
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha512"
	"encoding/binary"
	"math/big"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// mnemonic is that of the development chain, as Hardhat and anvil have it.
var mnemonic = strings.Repeat("test ", 11) + "junk"

// hardened marks a child of BIP-32 that is derived from the private key.
const hardened = 1 << 31

// DevelopmentKeys are the keys of the ten accounts that the development chain has:
// m/44'/60'/0'/0/0 to 9 of the mnemonic (BIP-39, BIP-32, BIP-44).
var DevelopmentKeys = sync.OnceValue(func() (keys []*ecdsa.PrivateKey) {
	seed, err := pbkdf2.Key(sha512.New, mnemonic, []byte("mnemonic"), 2048, 64)
	if err != nil {
		panic(err) // the parameters are constants
	}
	key, chain := halves([]byte("Bitcoin seed"), seed)
	for _, index := range []uint32{44 + hardened, 60 + hardened, hardened, 0} {
		key, chain = child(key, chain, index)
	}
	for index := range uint32(10) {
		leaf, _ := child(key, chain, index)
		keys = append(keys, crypto.ToECDSAUnsafe(leaf))
	}
	return keys
})

// halves splits the HMAC-SHA512 of data into a key and a chain code.
func halves(secret, data []byte) (key, chain []byte) {
	mac := hmac.New(sha512.New, secret)
	mac.Write(data)
	sum := mac.Sum(nil)
	return sum[:32], sum[32:]
}

// child derives a private child key of BIP-32.
func child(key, chain []byte, index uint32) (k, c []byte) {
	data := append([]byte{0}, key...)
	if index < hardened {
		data = crypto.CompressPubkey(&crypto.ToECDSAUnsafe(key).PublicKey)
	}
	k, c = halves(chain, binary.BigEndian.AppendUint32(data, index))
	sum := new(big.Int).Add(new(big.Int).SetBytes(k), new(big.Int).SetBytes(key))
	return common.LeftPadBytes(sum.Mod(sum, crypto.S256().Params().N).Bytes(), 32), c
}
