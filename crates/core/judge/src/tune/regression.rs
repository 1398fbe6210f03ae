//! Linear regression without intercept that outlier runs pull little: Tukey's biweight from Huber's estimate (1964), by
//! reweighting.

use crate::median::{MEDIAN_TO_SCALE, median};

/// Scales beyond which residuals have less weight in the first rounds, and none in the last ones; 95 % efficient for normal
/// noise.
const HUBER: f64 = 1.345;
const TUKEY: f64 = 4.685;
const ROUNDS: usize = 8;
/// Keeps the normal equations solvable where two columns are the same.
const RIDGE: f64 = 1e-9;

/// A coefficient with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficient {
    pub value: f64,
    pub standard_error: f64,
}

/// Coefficients of the columns of `rows` that explain `values`. `None`: there are not more rows than columns.
pub fn robust(rows: &[Vec<f64>], values: &[f64]) -> Option<Vec<Coefficient>> {
    let columns = rows.first()?.len();
    let freedom = rows.len().checked_sub(columns).filter(|freedom| *freedom > 0)?;
    // The fit takes a share of the scatter away.
    let widening = (rows.len() as f64 / freedom as f64).sqrt();
    let mut weights = vec![1.0; rows.len()];
    let mut fitted = Fitted::of(rows, values, &weights)?;
    let mut scale = 0.0;
    for round in 0..ROUNDS {
        let residuals = fitted.residuals(rows, values);
        scale =
            widening * MEDIAN_TO_SCALE * median(&residuals.iter().map(|residual| residual.abs()).collect::<Vec<_>>());
        if scale <= 0.0 {
            break;
        }
        let weight = |residual: &f64| match residual.abs() / scale {
            far if round < ROUNDS / 2 => (HUBER / far).min(1.0),
            far => (1.0 - (far / TUKEY).powi(2)).max(0.0).powi(2),
        };
        weights = residuals.iter().map(weight).collect();
        fitted = Fitted::of(rows, values, &weights)?;
    }
    let error = |variance: &f64| scale * variance.max(0.0).sqrt();
    let both = fitted.coefficients.iter().zip(&fitted.variances);
    Some(both.map(|(value, variance)| Coefficient { value: *value, standard_error: error(variance) }).collect())
}

/// A weighted least-squares fit.
struct Fitted {
    coefficients: Vec<f64>,
    /// Diagonal of the inverse of the normal equations.
    variances: Vec<f64>,
}

impl Fitted {
    fn of(rows: &[Vec<f64>], values: &[f64], weights: &[f64]) -> Option<Self> {
        let columns = rows.first()?.len();
        let mut normal = vec![vec![0.0; columns]; columns];
        let mut right = vec![0.0; columns];
        for ((row, value), weight) in rows.iter().zip(values).zip(weights) {
            for (at, left) in row.iter().enumerate().filter(|(_, left)| **left != 0.0) {
                right[at] += weight * left * value;
                row[..=at].iter().enumerate().for_each(|(other, cell)| normal[at][other] += weight * left * cell);
            }
        }
        (0..columns).for_each(|at| normal[at][at] += RIDGE);
        let lower = cholesky(normal)?;
        let unit = |at: usize| (0..columns).map(|other| f64::from(u8::from(other == at))).collect::<Vec<f64>>();
        let variances = (0..columns).map(|at| solved(&lower, unit(at))[at]).collect();
        Some(Self { coefficients: solved(&lower, right), variances })
    }

    fn residuals(&self, rows: &[Vec<f64>], values: &[f64]) -> Vec<f64> {
        let predicted = |row: &[f64]| row.iter().zip(&self.coefficients).map(|(cell, value)| cell * value).sum::<f64>();
        rows.iter().zip(values).map(|(row, value)| value - predicted(row)).collect()
    }
}

/// The lower triangle L of a symmetric positive matrix L Lᵀ, of which only the lower triangle is read.
fn cholesky(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    for row in 0..matrix.len() {
        for column in 0..=row {
            let known: f64 = (0..column).map(|at| matrix[row][at] * matrix[column][at]).sum();
            let rest = matrix[row][column] - known;
            matrix[row][column] = match row == column {
                true if rest <= 0.0 => return None,
                true => rest.sqrt(),
                false => rest / matrix[column][column],
            };
        }
    }
    Some(matrix)
}

/// The solution x of L Lᵀ x = `right`.
fn solved(lower: &[Vec<f64>], mut right: Vec<f64>) -> Vec<f64> {
    for row in 0..right.len() {
        let known: f64 = (0..row).map(|at| lower[row][at] * right[at]).sum();
        right[row] = (right[row] - known) / lower[row][row];
    }
    for row in (0..right.len()).rev() {
        let known: f64 = (row + 1..right.len()).map(|at| lower[at][row] * right[at]).sum();
        right[row] = (right[row] - known) / lower[row][row];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;

    fn planted(outlier: f64) -> (Vec<Vec<f64>>, Vec<f64>) {
        let mut coin = Coin::new(9);
        let rows: Vec<Vec<f64>> =
            (0..60).map(|_| (0..5).map(|_| if coin.next_u64() & 1 == 0 { 1.0 } else { -1.0 }).collect()).collect();
        let mut value = |(at, row): (usize, &Vec<f64>)| {
            0.5 * row[1] - 0.3 * row[4] + 0.1 * (coin.unit() - 0.5) + if at % 10 == 3 { outlier } else { 0.0 }
        };
        let values = rows.iter().enumerate().map(&mut value).collect();
        (rows, values)
    }

    #[test]
    fn planted_coefficients_come_back_also_under_outliers() {
        for outlier in [0.0, 5.0] {
            let (rows, values) = planted(outlier);
            let found = robust(&rows, &values).unwrap();
            for (at, expected) in [0.0, 0.5, 0.0, 0.0, -0.3].into_iter().enumerate() {
                let Coefficient { value, standard_error } = found[at];
                assert!((value - expected).abs() < 4.0 * standard_error, "{outlier}: {at} {value} {standard_error}");
                assert!(standard_error < 0.03, "{outlier}: {at} {standard_error}");
            }
        }
    }

    #[test]
    fn more_columns_than_rows_have_no_answer() {
        assert_eq!(robust(&[vec![1.0, -1.0], vec![1.0, 1.0]], &[1.0, 2.0]), None);
        assert_eq!(robust(&[], &[]), None);
        let exact = robust(&[vec![1.0], vec![-1.0], vec![1.0]], &[2.0, -2.0, 2.0]).unwrap();
        assert!((exact[0].value - 2.0).abs() < 1e-6 && exact[0].standard_error < 1e-6);
    }
}
