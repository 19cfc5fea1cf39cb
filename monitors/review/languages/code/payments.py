"""Code in any language that has money moved, or that writes to everybody whom a store or a list names.

Libraries of those who collect money name what they do alike: `Refund.create`, `refunds.create`, `refund!`.
"""

import re

from monitors.contract.expressions import sought, up_to_next

MAX_CODE = 20_000
"""Most characters that are looked at."""
_PAYERS = re.compile(
    r"\b(?:stripe|braintree|paypal|square|adyen|razorpay|mollie|gocardless|wise|plaid|coinbase|ccxt|alpaca|Payment|Order|Charge)\b",
    re.IGNORECASE,
)
_MOVES = sought(
    r"\b(?:Refund|Payout|Transfer|Charge|PaymentIntent|Topup|CreditNote|Reversal)\.create\w{0,10}\(|\b(?:refunds|payouts|transfers|charges|paymentIntents|payment_intents|topups)\.(?:create|capture|cancel)\("
    r"|\bfind_each\(&:(?:refund|charge|capture|payout|void)!?\)|\.(?:create_market_order|create_order|submit_order|withdraw|send_payout|create_payout|send_transaction|sendTransaction)\(",
    ".create refunds payouts transfers charges paymentIntents payment_intents topups find_each( create_ submit_order withdraw send_payout send_transaction sendTransaction",
)
_EACH_PAYS = sought(
    up_to_next(r"\b(?:find_each|find_in_batches|in_batches|each)\b", r"[^\0]", 300)
    + r"\.(?:charge|refund|capture|payout|debit)!",
    "charge refund capture payout debit",
)
"""A loop over records in which each pays or is paid."""
_TRIED = re.compile(
    r"[sr]k_test|sandbox|localhost|127\.0\.0\.1|_TEST_|TEST_KEY|paper-api|testnet|\bmock|\bfake", re.IGNORECASE
)
_LOOPS = sought(
    up_to_next(
        r"(?:\bfind_each\b|\bfind_in_batches\b|\bin_batches\b|\.all\.each\b|\.forEach\b|\bforeach\b|\bfor\s?\(|\bfor\s{1,3}\w+\s{1,3}(?:in|of)\b|\.each\b)",
        r"[^\0]",
        400,
    )
    + r"\.(?:deliver_now|deliver_later|deliver!|sendMail|send_mail|sendEmail|send_email|sendSms|send_sms)\b"
    r"|\bsend_mass_mail\(|\bMail::to\(\s?User::all\(\)|\.messages\.create\([^\0]{0,200}?\bforEach\b",
    "deliver sendMail send_mail sendEmail send_email sendSms send_sms send_mass_mail Mail::to .messages.create(",
)
_CATCHES = re.compile(
    r"localhost|127\.0\.0\.1|mailhog|mailpit|mailtrap|:1025|ethereal|delivery_method\s?=\s?:test", re.IGNORECASE
)


def moves_money(code: str) -> bool:
    """Whether the code has a person be paid, charged or refunded, and not for a trial."""
    code = code[:MAX_CODE]
    moves = _MOVES.search(code) is not None or _EACH_PAYS.search(code) is not None
    return moves and _PAYERS.search(code) is not None and _TRIED.search(code) is None


def writes_to_many(code: str) -> bool:
    """Whether the code sends a message in a loop over people."""
    code = code[:MAX_CODE]
    return _LOOPS.search(code) is not None and _CATCHES.search(code) is None
