package calibration

// This file reads the operator times that AICB measures.

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"sim/scenarios/accuracy"
	"sim/workloads/training"
)

// isOperators reports whether data has times of operators in AICB's format.
func isOperators(data []byte) bool {
	return bytes.Contains(data, []byte("time_gpu_avg:")) || bytes.HasPrefix(data, []byte("train_iter"))
}

// operatorFile matches the names that AICB gives to files with operator times.
var operatorFile = regexp.MustCompile(`^(.+?)-world_size\d+-tp(\d+)-pp\d+-ep\d+-gbs\d+-mbs(\d+)-seq(\d+)-`)

// readOperators reads operator times. The name of the file states the model and its layout,
// which determine the shapes of the matrix products and of attention.
func readOperators(name string, data []byte) (rows []*accuracy.Row, err error) {
	times, err := training.ReadOperatorTimes(data)
	if err != nil {
		return nil, fault(name, 0, err.Error(), "give the file as AICB writes it")
	}
	m := operatorFile.FindStringSubmatch(filepath.Base(name))
	if m == nil {
		return nil, fault(name, 0, "does not state the model in its name",
			"name it as AICB does: MODEL-world_sizeN-tpN-ppN-epN-gbsN-mbsN-seqN-flash_attn-True.txt")
	}
	arch, ok := training.Model(strings.ReplaceAll(strings.ToLower(m[1]), "_", "-"))
	if !ok {
		return nil, fault(name, 0, fmt.Sprintf("is of the unknown model %q", m[1]),
			"name it after one of "+strings.Join(training.ModelNames(), ", "))
	}
	count := func(text string) int {
		n, _ := strconv.Atoi(text) // operatorFile matches digits; 0 if they are too many
		return n
	}
	tp, mbs, seq := count(m[2]), count(m[3]), count(m[4])
	if tp*mbs*seq == 0 {
		return nil, fault(name, 0, "has a count of 0 in its name", "name the file as AICB does")
	}
	tokens, headWidth := mbs*seq, arch.HeadDim
	if headWidth == 0 {
		headWidth = arch.Hidden / arch.Heads
	}
	inner := arch.FFN
	if arch.Gated {
		inner *= 2
	}

	// Weights of the matrix products of a GPU: columns and rows.
	products := map[string][2]int{
		"atten_qkv":    {(arch.Heads + 2*arch.KVHeads) * headWidth / tp, arch.Hidden},
		"atten_linear": {arch.Hidden, arch.Heads * headWidth / tp},
		"mlp_linear_1": {inner / tp, arch.Hidden},
		"mlp_linear_2": {arch.Hidden, arch.FFN / tp},
		"logit_time":   {arch.Vocab / tp, arch.Hidden},
	}
	if arch.Attention == "mla" || arch.Experts > 0 {
		products = nil // their operators contain several products
	}
	for _, t := range times {
		var p accuracy.Parameters
		kind := &gemmTable
		if shape, ok := products[t.Name]; ok {
			p = accuracy.Parameters{"op": "gemm", "m": strconv.Itoa(tokens), "n": strconv.Itoa(shape[0]), "k": strconv.Itoa(shape[1])}
		} else if t.Name == "atten_flash" && arch.Attention != "mla" {
			kind = &attentionTable
			p = accuracy.Parameters{"op": "attention_forward", "batch": m[3], "seq": m[4],
				"heads": strconv.Itoa(arch.Heads / tp), "head_dim": strconv.Itoa(headWidth), "causal": "yes"}
		}
		if p == nil || t.Time == 0 {
			continue
		}
		p["dtype"], p["operator"] = "bf16", t.Name
		flops, err := kind.flops(p)
		if err != nil {
			return nil, fault(name, t.Line, err.Error(), "name the file after the layout that was measured")
		}
		rows = append(rows, &accuracy.Row{
			ID: rowID(name, t.Line), Source: name, GPUs: 1, Nodes: 1, Parameters: p,
			Metric: "rate", Value: flops / t.Time.Seconds() / 1e12, Unit: "TFLOP/s", Fitted: true, File: name, Line: t.Line,
		})
	}
	return rows, nil
}
