// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"fmt"
	"io"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// NewLogger returns a logger that writes one JSON line for each entry to w. The returned level can
// be changed while the program runs.
func NewLogger(w io.Writer, level string) (logr.Logger, zap.AtomicLevel, error) {
	l, err := parseLevel(level)
	if err != nil {
		return logr.Logger{}, zap.AtomicLevel{}, err
	}
	atomic := zap.NewAtomicLevelAt(l)
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	config.TimeKey = "time"
	core := zapcore.NewCore(zapcore.NewJSONEncoder(config), zapcore.Lock(zapcore.AddSync(w)), atomic)
	return zapr.NewLogger(zap.New(core)), atomic, nil
}

func parseLevel(s string) (zapcore.Level, error) {
	switch s {
	case "debug":
		return zapcore.DebugLevel, nil
	case "info":
		return zapcore.InfoLevel, nil
	case "error":
		return zapcore.ErrorLevel, nil
	}
	return 0, fmt.Errorf("--zap-log-level %q: want debug, info or error", s)
}
