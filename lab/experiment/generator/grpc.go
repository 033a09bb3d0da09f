package generator

import (
	"context"
	"fmt"
	"io"

	"dyno/lab/load/corpus"
	"dyno/lab/load/engine"
	"dyno/lab/load/grpcload/protosource"
	"dyno/lab/scenario"
)

// maxDescriptors bounds a file of descriptors, in bytes.
const maxDescriptors = 16 << 20

// describe adds the descriptors to a load of gRPC calls. They come from the scenario's files or
// from the target.
func (b *Generator) describe(ctx context.Context, l scenario.Load, s *corpus.Spec) error {
	if l.GRPC == nil {
		return nil
	}
	if len(l.GRPC.Proto) > 0 {
		var err error
		if s.Descriptors, err = protosource.Compile(ctx, b.resolved(l.GRPC.Proto), b.resolved(l.GRPC.ProtoPath)); err != nil {
			return fmt.Errorf("load.proto: %w", err)
		}
	}
	if l.GRPC.Descriptors != "" {
		var err error
		s.Descriptors, err = readFile(b.Scenario, l.GRPC.Descriptors, func(r io.Reader) ([]byte, error) {
			content, err := io.ReadAll(io.LimitReader(r, maxDescriptors+1))
			if err == nil && len(content) > maxDescriptors {
				err = fmt.Errorf("larger than %d MiB", maxDescriptors>>20)
			}
			return content, err
		})
		if err != nil {
			return fmt.Errorf("load.descriptors %s: %w", l.GRPC.Descriptors, err)
		}
	}
	return engine.Describe(ctx, s)
}

func (b *Generator) resolved(names []string) (out []string) {
	for _, name := range names {
		out = append(out, b.Scenario.Resolve(name))
	}
	return out
}
