"""What an S3 server's no means: worth another try, or a line that says what to do.

Pure tables over the error codes of Amazon S3, Ceph RGW, MinIO and R2; knows no client library.
"""

from loudr_core.errors import StoreError, StoreUnavailable

__all__ = ["MISSING", "is_passing", "refusal", "unanswered", "unusable"]

MISSING = frozenset({"NoSuchKey", "404", "NotFound"})
"""Codes that say: no such object. A bucket that is not there has a code of its own."""

_LATER = frozenset(
    {
        "SlowDown", "SlowDownRead", "SlowDownWrite", "ServiceUnavailable", "InternalError",
        "InternalFailure", "RequestTimeout", "RequestTimeoutException", "Throttling",
        "ThrottlingException", "ThrottledException", "RequestThrottled", "TooManyRequests",
        "TooManyRequestsException", "RequestLimitExceeded", "BandwidthLimitExceeded",
        "PriorRequestNotComplete", "OperationAborted", "ConditionalRequestConflict",
        "ServerNotInitialized", "XMinioServerNotInitialized",
    }
)  # fmt: skip
_FULL = {
    "QuotaExceeded", "QuotaExceededException", "ServiceQuotaExceeded", "InsufficientStorage",
    "InsufficientCapacity", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "507",
    "StorageQuotaExceeded", "StorageLimitExceeded",
}  # fmt: skip
_DENIED = {
    "AccessDenied", "AllAccessDisabled", "AccountProblem", "Forbidden", "403", "MethodNotAllowed",
    "InvalidObjectState", "UserSuspended",
}  # fmt: skip
_EXPIRED = {
    "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired",
    "TokenExpired",
}  # fmt: skip
_UNKNOWN_CALLER = {
    "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "InvalidClientTokenId",
    "UnrecognizedClientException", "InvalidSecurity", "NotSignedUp", "MissingAuthenticationToken",
    "AuthFailure", "401", "Unauthorized", "MissingSecurityHeader",
}  # fmt: skip
_ELSEWHERE = {
    "PermanentRedirect", "TemporaryRedirect", "Redirect", "301", "307", "IllegalLocationConstraint",
    "IllegalLocationConstraintException", "AuthorizationHeaderMalformed", "InvalidRegion",
    "InvalidLocationConstraint",
}  # fmt: skip
_SKEWED = {"RequestTimeTooSkewed", "RequestInTheFuture"}
_NO_BUCKET = {"NoSuchBucket", "InvalidBucketName"}
_UNKNOWN_REQUEST = {"NotImplemented", "501", "405", "UnsupportedOperation"}


def is_passing(code: str, status: int) -> bool:
    """Say whether the same call may succeed later; arguments as those of `refusal`."""
    return _advice(code, "") is None and (code in _LATER or status == 429 or status >= 500)


def refusal(code: str, status: int, *, action: str, place: str, bucket: str) -> StoreError:
    """Return the error for an answer that is a no.

    Parameters
    ----------
    code : str
        The server's error code; the status as text where the answer had no body.
    status : int
        HTTP status; 0 when unknown.
    action, place : str
        What was to be done with what, such as `write` and `s3://bucket/key`.
    bucket : str

    Returns
    -------
    StoreError
        `StoreUnavailable` when the same call may succeed later.
    """
    if is_passing(code, status):
        return StoreUnavailable(
            f"cannot {action} {place}: the server is busy or failing ({code}); run again",
            bucket=bucket,
            code=code,
        )
    return StoreError(
        f"cannot {action} {place}: "
        + (_advice(code, bucket) or f"the server says {code}; see the S3 error codes of its maker"),
        bucket=bucket,
        code=code,
    )


def unanswered(kind: str, *, action: str, place: str, bucket: str) -> StoreUnavailable:
    """Return the error for a call that got no answer; `kind` says how, such as a time-out."""
    return StoreUnavailable(
        f"cannot {action} {place}: no answer from the server ({kind}); check the network and the "
        "endpoint, then run again",
        bucket=bucket,
        code=kind,
    )


def unusable(kind: str, *, action: str, place: str, bucket: str) -> StoreError:
    """Return the error for a call that could not be made; `kind` is the client's own name for it.

    The client's text is left out: that of a credential helper may hold anything.
    """
    if "Credential" in kind or "Token" in kind:
        advice = (
            f"no usable credentials ({kind}); set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
            "AWS_PROFILE, or give the machine a role"
        )
    elif "SSL" in kind:
        advice = (
            f"the server's certificate is not trusted ({kind}); name its authority by AWS_CA_BUNDLE"
        )
    else:
        advice = f"the S3 client gives up ({kind}); check the AWS configuration"
    return StoreError(f"cannot {action} {place}: {advice}", bucket=bucket, code=kind)


def _advice(code: str, bucket: str) -> str | None:
    if code in _DENIED:
        return (
            f"access to bucket {bucket} is denied ({code}); allow these credentials s3:ListBucket, "
            "s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload on it"
        )
    if code in _NO_BUCKET:
        return f"there is no bucket {bucket} ({code}); make it, or correct the URL or the endpoint"
    if code in _EXPIRED:
        return f"the credentials for bucket {bucket} have expired ({code}); renew and run again"
    if code in _UNKNOWN_CALLER:
        return (
            f"the server of bucket {bucket} does not know the credentials ({code}); check "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        )
    if code in _FULL:
        return f"bucket {bucket} is full ({code}); raise its quota or remove objects, and run again"
    if code in _SKEWED:
        return (
            f"this machine's clock and that of bucket {bucket}'s server differ too much ({code}); "
            "set the clock (NTP) and run again"
        )
    if code in _ELSEWHERE:
        return f"bucket {bucket} is in another region ({code}); set AWS_REGION or ?region="
    if code == "EntityTooLarge":
        return f"the object is larger than the server of bucket {bucket} takes ({code})"
    if code in _UNKNOWN_REQUEST:
        return f"the server of bucket {bucket} cannot do that ({code}); use another S3 server"
    if code == "400":
        return (
            f"the server of bucket {bucket} does not take the request ({code}); check credentials "
            "and region"
        )
    return None
