package calibration

// This file reads CSV tables of kernels and training steps.

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"sim/scenarios/accuracy"
)

// table is a kind of CSV table. Its first line has the names of columns, in any order and
// notation. Columns without a meaning here become parameters of the rows.
type table struct {
	// required are columns, by which the table is detected.
	required []string
	// numbers are columns with positive numbers.
	numbers []string
	// fixed are parameters of all rows.
	fixed accuracy.Parameters
	// quantities are the measured values, the best one first.
	quantities []quantity
	// flops returns the arithmetic operations of a row, for a table with times and rates; nil
	// if values are taken as they are.
	flops func(accuracy.Parameters) (float64, error)
}

// quantity is a column with a measured value.
type quantity struct {
	names  []string
	metric string // of the ledger
	unit   string // of the ledger
	scale  float64
}

// kernelQuantities are the values of tables of kernels: rates, or times in seconds.
var kernelQuantities = []quantity{
	{[]string{"tflops", "tflop/s", "tflops/s"}, "rate", "TFLOP/s", 1},
	{[]string{"gflops", "gflop/s", "hipblaslt_gflops"}, "rate", "TFLOP/s", 1e-3},
	{[]string{"time_us", "us", "avg_us", "latency_us", "duration_us"}, "time", "s", 1e-6},
	{[]string{"time_ms", "ms", "avg_ms", "latency_ms", "duration_ms"}, "time", "s", 1e-3},
	{[]string{"time_s", "s", "seconds"}, "time", "s", 1},
}

var gemmTable = table{
	required: []string{"m", "n", "k"}, numbers: []string{"m", "n", "k"},
	fixed: accuracy.Parameters{"op": "gemm"}, quantities: kernelQuantities,
	flops: func(p accuracy.Parameters) (float64, error) { return product(p, 2, "m", "n", "k", "batch") },
}

var attentionTable = table{
	required: []string{"seq", "head_dim"}, numbers: []string{"seq", "head_dim"},
	fixed: accuracy.Parameters{"op": "attention_forward"}, quantities: kernelQuantities,
	flops: func(p accuracy.Parameters) (float64, error) {
		factor := 4.
		if slices.Contains([]string{"1", "true", "yes"}, p["causal"]) {
			factor = 2
		}
		return product(p, factor, "seq", "seq", "head_dim", "heads", "batch")
	},
}

var trainingLog = table{
	required: []string{"model", "gpus"}, numbers: []string{"gbs", "mbs", "seq", "tp", "pp", "cp", "ep", "vp"},
	quantities: []quantity{
		{[]string{"step_time_s", "step_time", "iteration_time_s", "iteration_time", "time_s"}, "iteration_time", "s", 1},
		{[]string{"step_time_ms", "iteration_time_ms", "time_ms"}, "iteration_time", "s", 1e-3},
		{[]string{"tok/s/gpu", "tokens/s/gpu", "tokens_per_s_per_gpu", "tokens_per_second_per_gpu"}, "throughput", "tok/s/GPU", 1},
		{[]string{"tflop/s/gpu", "tflops/gpu", "tflops_per_gpu"}, "throughput", "TFLOP/s/GPU", 1},
	},
}

// product returns a factor times some parameters. Parameters of a single kernel may be absent.
func product(p accuracy.Parameters, factor float64, names ...string) (float64, error) {
	for _, name := range names {
		if _, ok := p[name]; !ok && (name == "batch" || name == "heads") {
			continue
		}
		v, err := p.Number(name)
		if err != nil {
			return 0, err
		}
		factor *= v
	}
	return factor, nil
}

// otherNames maps names of columns to the names of the ledger.
var otherNames = map[string]string{
	"type": "dtype", "datatype": "dtype", "data_type": "dtype", "a_type": "dtype", "batch_count": "batch", "batch_size": "batch",
	"seqlen": "seq", "seq_len": "seq", "sequence_length": "seq", "seq_length": "seq", "num_heads": "heads", "nheads": "heads",
	"headdim": "head_dim", "global_batch_size": "gbs", "micro_batch_size": "mbs", "num_gpus": "gpus", "world_size": "gpus",
	"num_nodes": "nodes", "gpu": "hardware", "device": "hardware", "tensor_parallel": "tp", "pipeline_parallel": "pp",
	"context_parallel": "cp", "expert_parallel": "ep", "virtual_stages": "vp",
}

// typeNames maps types of numbers to the names of the ledger.
var typeNames = map[string]string{
	"bf16_r": "bf16", "bfloat16": "bf16", "f16_r": "fp16", "half": "fp16", "float16": "fp16", "f8_r": "fp8", "fp8_e4m3": "fp8",
	"fp8e4m3": "fp8", "e4m3": "fp8", "f32_r": "fp32", "float": "fp32", "float32": "fp32",
}

// punctuation separates the words in names of columns.
var punctuation = regexp.MustCompile(`[\s()\[\]_-]+`)

// columnName returns the name of a column as the ledger spells it.
func columnName(head string) string {
	name := strings.Trim(punctuation.ReplaceAllString(strings.ToLower(head), "_"), "_")
	if other, ok := otherNames[name]; ok {
		return other
	}
	return name
}

// splitCSV returns the fields of a line, or nil if it is no CSV.
func splitCSV(line string) []string {
	r := csv.NewReader(strings.NewReader(line))
	r.TrimLeadingSpace = true
	fields, err := r.Read()
	if err != nil {
		return nil
	}
	return fields
}

// matches reports whether data begins with the columns of the table.
func (t *table) matches(data []byte) bool {
	var names []string
	for _, head := range splitCSV(firstLine(data)) {
		names = append(names, columnName(head))
	}
	return !slices.ContainsFunc(t.required, func(name string) bool { return !slices.Contains(names, name) })
}

// read reads a table.
func (t *table) read(name string, data []byte) (rows []*accuracy.Row, err error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.Comment, r.TrimLeadingSpace = '#', true
	head, err := r.Read()
	if err != nil {
		return nil, fault(name, 1, "has no line with the names of columns", "begin it with "+strings.Join(t.required, ","))
	}
	for {
		fields, err := r.Read()
		if err == io.EOF {
			return rows, nil
		}
		if bad := (*csv.ParseError)(nil); errors.As(err, &bad) {
			problem := bad.Err.Error()
			if errors.Is(err, csv.ErrFieldCount) {
				problem = fmt.Sprintf("has %d fields, the first line has %d", len(fields), len(head))
			}
			return nil, fault(name, bad.Line, problem, "the file may be cut; write it again")
		}
		line, _ := r.FieldPos(0)
		row, err := t.row(name, line, head, fields)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
}

// row returns the measurement of a line.
func (t *table) row(name string, line int, head, fields []string) (*accuracy.Row, error) {
	row := &accuracy.Row{
		ID: rowID(name, line), Source: name, Parameters: accuracy.Parameters{}, GPUs: 1, Nodes: 1, Fitted: true, File: name, Line: line,
	}
	for key, value := range t.fixed {
		row.Parameters[key] = value
	}
	values := map[string]float64{} // metric and unit of the quantities of the line
	for i, field := range fields {
		column := columnName(head[i])
		if column == "precision" && t.flops != nil {
			column = "dtype"
		}
		isValue := slices.IndexFunc(t.quantities, func(q quantity) bool { return slices.Contains(q.names, column) })
		number, isNumber := positive(field)
		switch {
		case isValue >= 0 && !isNumber, slices.Contains(t.numbers, column) && !isNumber,
			column == "gpus" && !(isNumber && number == math.Trunc(number)):
			return nil, fault(name, line, fmt.Sprintf("has %s = %q", head[i], field), "want a number greater than 0")
		case isValue >= 0:
			q := &t.quantities[isValue]
			if _, ok := values[q.metric]; !ok {
				values[q.metric] = number * q.scale
				row.Metric, row.Value, row.Unit = q.metric, number*q.scale, q.unit
			}
		case column == "gpus":
			row.GPUs, row.Nodes = int(number), 0
		case column == "nodes":
			row.Nodes = int(number)
		case column == "hardware":
			row.Hardware = field
		case column == "dtype":
			dtype := strings.ToLower(field)
			if other, ok := typeNames[dtype]; ok {
				dtype = other
			}
			row.Parameters[column] = dtype
		default:
			row.Parameters[column] = field
		}
	}
	if len(values) == 0 {
		var names []string
		for _, q := range t.quantities {
			names = append(names, q.names[0])
		}
		return nil, fault(name, 1, "has no column with measured values", "add one of "+strings.Join(names, ", "))
	}
	if t.flops != nil {
		if err := t.useRate(row, values); err != nil {
			return nil, fault(name, line, err.Error(), "write sizes, time and rate of one kernel")
		}
	}
	return row, nil
}

// useRate makes the value of a kernel its rate. Time and rate must agree if both are given.
func (t *table) useRate(row *accuracy.Row, values map[string]float64) error {
	rate, hasRate := values["rate"]
	seconds, hasTime := values["time"]
	if hasTime {
		flops, err := t.flops(row.Parameters)
		if err != nil {
			return err
		}
		const tolerance = 0.05
		computed := flops / seconds / 1e12
		if hasRate && math.Abs(computed/rate-1) > tolerance {
			return fmt.Errorf("has the rate %.4g TFLOP/s, and sizes and time give %.4g", rate, computed)
		}
		if !hasRate {
			rate = computed
		}
	}
	row.Metric, row.Value, row.Unit = "rate", rate, "TFLOP/s"
	return nil
}

// hipBLASLtHead is the beginning of hipblaslt-bench's names of columns.
const hipBLASLtHead = "transA,transB,"

// isHipBLASLt reports whether data has a table of hipblaslt-bench.
func isHipBLASLt(data []byte) bool { return bytes.Contains(data, []byte(hipBLASLtHead)) }

// readHipBLASLt reads the output of hipblaslt-bench: each line with the names of columns is
// followed by a line with values.
func readHipBLASLt(name string, data []byte) (rows []*accuracy.Row, err error) {
	var head []string
	line, headLine := 0, 0
	for text := range strings.Lines(string(data)) {
		line++
		text = strings.TrimSpace(text)
		if _, names, found := strings.Cut(text, hipBLASLtHead); found {
			head, headLine = splitCSV(hipBLASLtHead+names), line
			continue
		}
		if head == nil || text == "" {
			continue
		}
		fields := splitCSV(text)
		if len(fields) != len(head) {
			return nil, fault(name, line, fmt.Sprintf("has %d values, line %d has %d columns", len(fields), headLine, len(head)),
				"the file may be cut; give the whole output")
		}
		row, err := gemmTable.row(name, line, head, fields)
		if err != nil {
			return nil, err
		}
		rows, head = append(rows, row), nil
	}
	if head != nil {
		return nil, fault(name, headLine, "is the last line, without values", "the file may be cut; give the whole output")
	}
	return rows, nil
}
