#!/bin/sh
# Writes mirror.pb.go and mirror_grpc.pb.go: run by go generate.
set -eu
bin=$(mktemp -d)
trap 'rm -r "$bin"' EXIT
GOBIN=$bin go install google.golang.org/protobuf/cmd/protoc-gen-go
GOBIN=$bin go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0
PATH=$bin:$PATH protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative mirror.proto
