package accuracy

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"sim/internal/csvfield"
)

// record is the JSON object of a prediction. Fields without a value are left out.
type record struct {
	ID        string   `json:"id"`
	Class     string   `json:"class"`
	Machine   string   `json:"machine,omitempty"`
	Metric    string   `json:"metric"`
	Unit      string   `json:"unit"`
	Fitted    bool     `json:"fitted,omitempty"`
	Measured  *float64 `json:"measured,omitempty"`
	Predicted *float64 `json:"predicted,omitempty"`
	Ratio     *float64 `json:"ratio,omitempty"`
	Note      string   `json:"note,omitempty"`
	Reason    string   `json:"reason,omitempty"`
}

// record returns the JSON object of p.
func (p *Prediction) record() record {
	r := p.Row
	out := record{ID: r.ID, Class: p.Class, Machine: p.Machine, Metric: r.Metric, Unit: r.Unit, Fitted: r.Fitted, Note: p.Note, Reason: p.Reason}
	if !math.IsNaN(r.Value) {
		out.Measured = &r.Value
	}
	if p.Reason == "" {
		ratio := p.Ratio()
		out.Predicted, out.Ratio = &p.Value, &ratio
	}
	return out
}

// WriteJSON writes one JSON object per line and row.
func WriteJSON(w io.Writer, predictions []Prediction) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for i := range predictions {
		if err := e.Encode(predictions[i].record()); err != nil {
			return err
		}
	}
	return nil
}

// WriteCSV writes one line per row, after a line with the names of the columns.
func WriteCSV(w io.Writer, predictions []Prediction) error {
	out := csv.NewWriter(w)
	out.Write([]string{"id", "class", "machine", "metric", "unit", "fitted", "measured", "predicted", "ratio", "note", "reason"})
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	for i := range predictions {
		r := predictions[i].record()
		out.Write(csvfield.Safe(r.ID, r.Class, r.Machine, r.Metric, r.Unit, strconv.FormatBool(r.Fitted),
			number(r.Measured), number(r.Predicted), number(r.Ratio), r.Note, r.Reason))
	}
	out.Flush()
	return out.Error()
}
