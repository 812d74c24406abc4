package worker

import "sessionfold/wire"

func agdx(*wire.Source) wire.Decoder { return wire.NewAGDXDecoder() }
