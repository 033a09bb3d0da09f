package xrpl

import (
	_ "github.com/decred/dcrd/dcrec/secp256k1/v4"
	_ "github.com/ethereum/go-ethereum/crypto/secp256k1"
	_ "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	_ "github.com/minio/simdjson-go"
	_ "github.com/mr-tron/base58"
	_ "github.com/parquet-go/parquet-go"
	_ "github.com/schollz/progressbar/v3"
	_ "google.golang.org/grpc"
)
